// Waiting for the matrix unit: who reads a result, and when it is there.
#pragma once

#include <cstdint>

#include "core/text.hpp"

namespace ktrace::softdev {

// The earliest time from `time` on at which `inst` can start: when the results that it reads or overwrites
// are there. A chain of accumulations into the same registers does not wait for more than the unit.
uint64_t after_matrix_results(const Wave& wave, const Decoded& decoded, uint64_t time);

// A matrix instruction starts at `time`.
void remember_matrix_result(Wave& wave, const Decoded& decoded, uint64_t time);

}  // namespace ktrace::softdev
