# The lane handlers, compiled once per instruction set of the host; vector.cpp picks a copy at run time.
file(GLOB KTRACE_LANE_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/vector/lanes/*.cpp)

function(ktrace_add_lanes isa)
  add_library(softdev_lanes_${isa} OBJECT ${KTRACE_LANE_SOURCES})
  target_include_directories(softdev_lanes_${isa} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(softdev_lanes_${isa} PRIVATE ktrace_settings)
  target_compile_definitions(softdev_lanes_${isa} PRIVATE KTRACE_SOFTDEV_ISA=${isa})
  # Contraction would fuse what the kernel's compiler left apart; errno and host exceptions are not looked at.
  target_compile_options(softdev_lanes_${isa} PRIVATE
    -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math ${ARGN})
  target_sources(softdev PRIVATE $<TARGET_OBJECTS:softdev_lanes_${isa}>)
endfunction()

ktrace_add_lanes(baseline)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  ktrace_add_lanes(avx2 -mavx2 -mfma -mf16c -mbmi -mbmi2)
  target_compile_definitions(softdev PRIVATE KTRACE_SOFTDEV_HAS_AVX2)
endif()
