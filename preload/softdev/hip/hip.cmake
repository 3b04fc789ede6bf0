# What the HIP layer needs on top of the sources.
target_link_libraries(softdev PRIVATE ${CMAKE_DL_LIBS})
target_compile_definitions(softdev PRIVATE KTRACE_VERSION_STRING="${PROJECT_VERSION}")
# Calls among our own exports stay inside: an interposer must not see one call of the program as two.
target_link_options(softdev PRIVATE -Wl,-Bsymbolic)
