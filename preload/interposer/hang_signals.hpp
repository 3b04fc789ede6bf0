// What interrupts the program, or kills it, first lets unfinished dispatches be recorded (--hang).
#pragma once

namespace ktrace {

// Takes over the signals that end a program, in front of what was there. From then on each of them asks
// whoever waits in `wait_for_interrupt`, and goes on when that has answered, or after a second.
void take_over_signals();

// For the thread that records. True if a signal asks; false after `timeout_ms`.
bool wait_for_interrupt(int timeout_ms);
void answer_interrupt();
// Ends the waiting of the thread that records.
void wake_waiting_thread();

}  // namespace ktrace
