# find_package(ktrace): annotations for kernels, header only.
#
#   ktrace::ktrace   the headers, with tracing unless KTRACE_TRACING is OFF
#   ktrace::headers  the headers; annotations compile to nothing
option(KTRACE_TRACING "kernels of targets that link ktrace::ktrace are traced" ON)

get_filename_component(KTRACE_INCLUDE_DIR "${CMAKE_CURRENT_LIST_DIR}/../include" ABSOLUTE)
if(NOT EXISTS "${KTRACE_INCLUDE_DIR}/ktrace/ktrace.hpp")
  set(ktrace_FOUND FALSE)
  set(ktrace_NOT_FOUND_MESSAGE "${KTRACE_INCLUDE_DIR} has no ktrace/ktrace.hpp")
  return()
endif()

if(NOT TARGET ktrace::headers)
  add_library(ktrace::headers INTERFACE IMPORTED)
  set_target_properties(ktrace::headers PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${KTRACE_INCLUDE_DIR}"
    INTERFACE_COMPILE_FEATURES cxx_std_17)
endif()
if(NOT TARGET ktrace::ktrace)
  add_library(ktrace::ktrace INTERFACE IMPORTED)
  set_target_properties(ktrace::ktrace PROPERTIES
    INTERFACE_LINK_LIBRARIES ktrace::headers
    INTERFACE_COMPILE_DEFINITIONS "$<$<BOOL:${KTRACE_TRACING}>:KTRACE_ENABLE>")
endif()
