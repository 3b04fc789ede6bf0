// Libraries that each bring what they call: -DHIP is a HIP that hands a code object to its HSA runtime and a
// table to its rocprofiler-register, -DHSA=n and -DREGISTER=n are those, which answer n.
#include <cstddef>
#include <cstdint>

#define EXPORT extern "C" __attribute__((visibility("default")))

#ifdef HSA
EXPORT int hsa_code_object_reader_create_from_memory(const void*, std::size_t, std::uint64_t* reader) {
  return *reader = HSA, 0;
}
#endif

#ifdef REGISTER
EXPORT int rocprofiler_register_library_api_table(const char*, void*, std::uint32_t, void**, std::uint64_t,
                                                  void*) {
  return REGISTER;
}
#endif

#ifdef HIP
EXPORT int hsa_code_object_reader_create_from_memory(const void*, std::size_t, std::uint64_t*);
EXPORT int rocprofiler_register_library_api_table(const char*, void*, std::uint32_t, void**, std::uint64_t,
                                                  void*);
EXPORT int hipInit(unsigned) { return 0; }
EXPORT int ask_hsa() {
  static const char code[8] = {};
  std::uint64_t reader = 0;
  const int status = hsa_code_object_reader_create_from_memory(code, sizeof code, &reader);
  return status == 0 ? static_cast<int>(reader) : -1;
}
// Ends in the call: compilers make a jump of it.
EXPORT int ask_register() {
  static std::uint64_t table[600] = {sizeof table};
  static void* tables[1] = {table};
  return rocprofiler_register_library_api_table("hip", nullptr, 1, tables, 1, nullptr);
}
#endif
