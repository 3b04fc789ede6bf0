#include "target.hpp"

namespace ktrace {
namespace {

struct Machine {
  std::uint32_t number;  // EF_AMDGPU_MACH of the LLVM AMDGPU back end
  const char* processor;
};

// The GCN and CDNA line, which ktrace can meet annotated kernels for.
constexpr Machine machines[] = {
    {0x2c, "gfx900"}, {0x2d, "gfx902"}, {0x2e, "gfx904"},       {0x2f, "gfx906"},         {0x30, "gfx908"},
    {0x31, "gfx909"}, {0x32, "gfx90c"}, {0x3f, "gfx90a"},       {0x40, "gfx940"},         {0x4b, "gfx941"},
    {0x4c, "gfx942"}, {0x4f, "gfx950"}, {0x51, "gfx9-generic"}, {0x5f, "gfx9-4-generic"},
};

struct Generic {
  const char* name;
  const char* processors[9];  // up to the first null
};

constexpr Generic generics[] = {
    {"gfx9-generic", {"gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"}},
    {"gfx9-4-generic", {"gfx940", "gfx941", "gfx942", "gfx950"}},
    {"gfx10-1-generic", {"gfx1010", "gfx1011", "gfx1012", "gfx1013"}},
    {"gfx10-3-generic", {"gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"}},
    {"gfx11-generic",
     {"gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"}},
    {"gfx12-generic", {"gfx1200", "gfx1201"}},
};

constexpr unsigned abi_version_4 =
    2;  // EI_ABIVERSION of code object version 4, the first with two bits a feature

std::string processor_of(const std::string& target) { return target.substr(0, target.find(':')); }

// '+', '-', or 0 where the target leaves the feature open.
char feature_of(const std::string& target, const std::string& feature) {
  const std::size_t at = target.find(":" + feature);
  return at == std::string::npos ? '\0' : target.c_str()[at + 1 + feature.size()];
}

bool covers(const std::string& name, const std::string& processor) {
  for (const Generic& generic : generics) {
    if (name != generic.name) continue;
    for (const char* const* covered = generic.processors; *covered; ++covered)
      if (processor == *covered) return true;
  }
  return false;
}

// Two bits: 0 unsupported, 1 any, 2 off, 3 on.
const char* sign_of(std::uint32_t setting) {
  if (setting == 2) return "-";
  return setting == 3 ? "+" : "";
}

}  // namespace

std::string target_of_header(std::uint32_t flags, unsigned abi_version) {
  for (const Machine& machine : machines) {
    if ((flags & 0xff) != machine.number) continue;
    std::string target = machine.processor;
    if (abi_version < abi_version_4) return target;
    const std::string sramecc = sign_of(flags >> 10 & 3), xnack = sign_of(flags >> 8 & 3);
    if (!sramecc.empty()) target += ":sramecc" + sramecc;
    if (!xnack.empty()) target += ":xnack" + xnack;
    return target;
  }
  return "";
}

bool is_target_for(const std::string& target, const std::string& device) {
  if (target.empty() || device.empty()) return true;
  const std::string processor = processor_of(device);
  if (processor_of(target) != processor && !covers(processor_of(target), processor)) return false;
  for (const char* feature : {"sramecc", "xnack"}) {
    const char wanted = feature_of(target, feature);
    const char has = feature_of(device, feature);
    if (wanted && has && wanted != has) return false;
  }
  return true;
}

bool is_exact_target_for(const std::string& target, const std::string& device) {
  return is_target_for(target, device) && processor_of(target) == processor_of(device);
}

}  // namespace ktrace
