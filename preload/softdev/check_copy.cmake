# Refuses objects of one copy (copies.cmake) that hold functions which other objects may hold too: the linker keeps one
# of these, and code for AVX-512 would run on processors without it. Everything that such a copy does not inline is in a
# namespace of its own, but for what compilers add: references to personality routines, and Clang's call of
# std::terminate, which has no vector code.
# Names as they are: not every nm can demangle those of every compiler.
execute_process(COMMAND ${NM} ${OBJECTS} OUTPUT_VARIABLE symbols RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${NM} cannot read the objects of ${COPY}")
endif()
string(LENGTH ${COPY} length)
string(REGEX REPLACE "[^\n]*(7softdev${length}${COPY}|DW\\.ref\\.|__clang_call_terminate)[^\n]*\n" "" shared "${symbols}")
string(REGEX MATCH "[^\n]* [WVu] [^\n]*" found "${shared}")
if(found)
  message(FATAL_ERROR "an object of ${COPY} has a symbol that is shared with other copies:\n${found}\n"
    "Move it into the namespace KTRACE_SOFTDEV_ISA, or have it inlined always.")
endif()
