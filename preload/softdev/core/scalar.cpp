// Scalar arithmetic by format.
#include "core/dispatch.hpp"
#include "core/scalar_operands.hpp"

namespace ktrace::softdev {

Handler scalar_handler(const Inst& inst) {
  switch (inst.encoding) {
    case Encoding::sop1:
      return sop1_handler(inst.op);
    case Encoding::sop2:
      return sop2_handler(inst.op);
    case Encoding::sopc:
      return sopc_handler(inst.op);
    case Encoding::sopk:
      return sopk_handler(inst.op);
    default:
      return nullptr;
  }
}

}  // namespace ktrace::softdev
