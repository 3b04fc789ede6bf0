# Code over lanes is compiled once per instruction set of the host; core/lane_code.cpp picks a copy at run time.
#
# KTRACE_COPIES are the copies' names, KTRACE_COPY_FLAGS_<name> what each is compiled with, KTRACE_COPY_DEFINITIONS
# what everything else is told about them.
include(CheckCXXCompilerFlag)

set(KTRACE_COPIES baseline)
set(KTRACE_COPY_FLAGS_baseline "")
set(KTRACE_COPY_DEFINITIONS "")

function(ktrace_find_copy name)
  string(TOUPPER ${name} upper)
  string(JOIN " " flags ${ARGN})
  check_cxx_compiler_flag("${flags}" KTRACE_COMPILES_${upper})
  if(KTRACE_COMPILES_${upper})
    set(KTRACE_COPIES ${KTRACE_COPIES} ${name} PARENT_SCOPE)
    set(KTRACE_COPY_FLAGS_${name} ${ARGN} PARENT_SCOPE)
    set(KTRACE_COPY_DEFINITIONS ${KTRACE_COPY_DEFINITIONS} KTRACE_SOFTDEV_HAS_${upper} PARENT_SCOPE)
  endif()
endfunction()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(avx2 -mavx2 -mfma -mf16c -mbmi -mbmi2)
  ktrace_find_copy(avx2 ${avx2})
  ktrace_find_copy(avx512 ${avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512cd -mprefer-vector-width=512)
endif()

# The sources of FOLDER become part of the library TARGET, once per copy, as object libraries NAME_<copy>.
function(ktrace_add_copies target name folder)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp)
  foreach(copy IN LISTS KTRACE_COPIES)
    set(objects ${name}_${copy})
    add_library(${objects} OBJECT ${sources})
    target_include_directories(${objects} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    target_link_libraries(${objects} PRIVATE ktrace_settings)
    target_compile_definitions(${objects} PRIVATE KTRACE_SOFTDEV_ISA=${copy})
    # Contraction would fuse what the kernel's compiler left apart; errno and host exceptions are not looked at.
    target_compile_options(${objects} PRIVATE
      -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math ${KTRACE_COPY_FLAGS_${copy}})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${objects}>)
    if(NOT copy STREQUAL baseline)
      add_custom_command(TARGET ${target} PRE_LINK VERBATIM COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM} -DCOPY=${copy}
        "-DOBJECTS=$<TARGET_OBJECTS:${objects}>" -P ${CMAKE_CURRENT_SOURCE_DIR}/check_copy.cmake)
    endif()
  endforeach()
endfunction()
