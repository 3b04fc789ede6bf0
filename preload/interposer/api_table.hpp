// HIP's API tables: every call of a copy goes through one, and a tool may replace what is in it when the copy
// registers it with rocprofiler-register.
#pragma once

#include "loader.hpp"

namespace ktrace {

// Whether the copy will register its tables, and with us: ROCm's own builds do so since 6.1, a distribution's
// may not.
bool is_table_expected(const LoadedObject& copy);

}  // namespace ktrace
