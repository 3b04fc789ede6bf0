# Builds the native libraries for every Linux on x86-64 with glibc 2.17 or newer: `pip install ziglang` is all
# it takes, and ziglang's C++ library ends up inside them.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
find_program(KTRACE_ZIG NAMES python-zig zig REQUIRED)
set(CMAKE_CXX_COMPILER ${KTRACE_ZIG} c++)
set(CMAKE_CXX_COMPILER_TARGET x86_64-linux-gnu.2.17)
# What is linked in brings 18 MB of debug information.
set(CMAKE_SHARED_LINKER_FLAGS_INIT -s)
