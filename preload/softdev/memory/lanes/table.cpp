// The memory instructions of this instruction set's copy.
#include "memory/lanes/table.hpp"

#include "memory/copies.hpp"

namespace ktrace::softdev::KTRACE_SOFTDEV_ISA {

Handler memory_handler_of(const Inst& inst) {
  switch (inst.encoding) {
    case Encoding::ds:
      return ds_handler(inst);
    case Encoding::flat:
      return flat_handler(inst);
    case Encoding::mubuf:
      return mubuf_handler(inst);
    case Encoding::mtbuf:
      return format_handler(inst);
    default:
      return nullptr;
  }
}

}  // namespace ktrace::softdev::KTRACE_SOFTDEV_ISA
