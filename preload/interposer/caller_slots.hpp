// The places in loaded libraries through which they call HIP: with several copies of HIP, each is pointed at
// our function for the copy that its library is bound to.
//
// A return address would tell the caller only of a call that returns to it: compilers turn the last call of
// a function into a jump.
#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "loader.hpp"

namespace ktrace {

// The function that `caller` is to call for `name`; null to leave it as it is.
using FunctionForCaller = std::function<void*(const LoadedObject& caller, const char* name)>;

// Changes every place that still holds one of our exported functions, or will as soon as it is first used.
// `writing` is held while one is changed, and at no other time.
void bind_callers(std::mutex& writing, const FunctionForCaller& function_for);

}  // namespace ktrace
