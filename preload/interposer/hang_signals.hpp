// What interrupts the program, or kills it, first lets unfinished dispatches be recorded (--hang).
#pragma once

namespace ktrace {

// Takes over the signals that end a program, in front of what was there. From then on each of them asks
// whoever waits in `wait_for_interrupt`, and goes on when that has answered, or after a second.
// Where the program's own handler is called while a launch has not returned, and could so wait for ever, the
// same signal once more ends the program; `speaks`: this is said on stderr.
void take_over_signals(bool speaks);

// Around calls of HIP that launch what is traced.
void note_launch();
void note_return();

// For the thread that records. True if a signal asks; false after `timeout_ms`.
bool wait_for_interrupt(int timeout_ms);
void answer_interrupt();
// Ends the waiting of the thread that records, which ends itself: signals from now on go on at once.
void wake_waiting_thread();

}  // namespace ktrace
