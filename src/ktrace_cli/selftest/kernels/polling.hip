// The kernels of markers.hip, whose markers wait for their clock alone.
#define KTRACE_POLL_CLOCK
#define KERNEL_NAME(name) selftest_polling_##name
#include "markers.hip"
