#include "caller_slots.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "hooks.hpp"

namespace ktrace {
namespace {

struct Slot {
  void** place = nullptr;
  const char* name = nullptr;
};

struct Caller {
  LoadedObject object;
  std::uintptr_t relro_begin = 0, relro_end = 0;  // read-only since it was loaded
  std::vector<Slot> slots;
};

void add_slots(const dl_phdr_info& object, const DynamicTables& tables, const ElfW(Rela) * relocations,
               std::size_t bytes, Caller* caller) {
  for (std::size_t i = 0; relocations && i < bytes / sizeof *relocations; ++i) {
    const ElfW(Rela)& relocation = relocations[i];
    const auto type = ELF64_R_TYPE(relocation.r_info);
    if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT && type != R_X86_64_64) continue;
    const ElfW(Sym)& symbol = tables.symbols[ELF64_R_SYM(relocation.r_info)];
    const char* name = tables.strings + symbol.st_name;
    const void* exported = symbol.st_shndx == SHN_UNDEF ? exported_hook(name) : nullptr;
    if (!exported) continue;
    auto** place = reinterpret_cast<void**>(object.dlpi_addr + relocation.r_offset);
    const bool is_first_use_ahead = type == R_X86_64_JUMP_SLOT && holds(object, *place);
    if (*place == exported || is_first_use_ahead) caller->slots.push_back({place, name});
  }
}

int add_caller(dl_phdr_info* object, std::size_t, void* data) {
  const DynamicTables tables = dynamic_tables(*object);
  if (!tables.symbols || !tables.strings) return 0;
  Caller caller;
  caller.object = {object->dlpi_name, object->dlpi_addr};
  add_slots(*object, tables, tables.plt_relocations, tables.plt_bytes, &caller);
  add_slots(*object, tables, tables.relocations, tables.relocation_bytes, &caller);
  for (int i = 0; i < object->dlpi_phnum; ++i)
    if (object->dlpi_phdr[i].p_type == PT_GNU_RELRO) {
      caller.relro_begin = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
      caller.relro_end = caller.relro_begin + object->dlpi_phdr[i].p_memsz;
    }
  if (!caller.slots.empty()) static_cast<std::vector<Caller>*>(data)->push_back(std::move(caller));
  return 0;
}

// Caller holds the lock: two threads that write to one page would take the permission from each other.
void write_slot(const Caller& caller, void** place, void* function) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<std::uintptr_t>(place);
  const bool is_read_only = address >= caller.relro_begin && address < caller.relro_end / page * page;
  auto* start = reinterpret_cast<void*>(address / page * page);
  if (is_read_only && mprotect(start, page, PROT_READ | PROT_WRITE) != 0) return;
  __atomic_store_n(place, function, __ATOMIC_RELEASE);
  if (is_read_only) mprotect(start, page, PROT_READ);
}

}  // namespace

// What the loader knows is copied first: it may not be asked for functions while it lists its objects.
void bind_callers(std::mutex& writing, const FunctionForCaller& function_for) {
  std::vector<Caller> callers;
  dl_iterate_phdr(add_caller, &callers);
  for (const Caller& caller : callers) {
    void* handle = handle_of_loaded(caller.object.path);  // "" is the program; it stays loaded meanwhile
    if (!handle) continue;
    if (caller.object.path.empty() || object_of_handle(handle).base == caller.object.base)
      for (const Slot& slot : caller.slots)
        if (void* function = function_for(caller.object, slot.name)) {
          const std::lock_guard lock(writing);
          write_slot(caller, slot.place, function);
        }
    dlclose(handle);
  }
}

}  // namespace ktrace
