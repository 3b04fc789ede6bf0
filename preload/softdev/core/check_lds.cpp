// Which bytes of LDS an instruction reads and writes: DS, FLAT in the shared aperture, and loads into LDS.
#include "core/check_lds.hpp"

#include <algorithm>
#include <cstdio>

#include "core/atomic.hpp"
#include "core/check_report.hpp"

namespace ktrace::softdev {

namespace {

constexpr uint8_t reads = 1, writes = 2;

struct Use {
  uint8_t bytes = 0;  // of a lane; 0: LDS is not accessed
  uint8_t kind = 0;
  uint16_t unit = 0;  // two accesses, whose offsets count these; 0: one
};

struct Row {
  uint16_t op;
  Use use;
};

// What is no atomic: those are found by their numbers.
constexpr Row ds_rows[] = {
    {13, {4, writes}},
    {14, {4, writes, 4}},
    {15, {4, writes, 256}},
    {20, {}},
    {29, {4, writes}},
    {30, {1, writes}},
    {31, {2, writes}},
    {46, {4, 3, 4}},
    {47, {4, 3, 256}},
    {54, {4, reads}},
    {55, {4, reads, 4}},
    {56, {4, reads, 256}},
    {57, {1, reads}},
    {58, {1, reads}},
    {59, {2, reads}},
    {60, {2, reads}},
    {61, {}},
    {62, {}},
    {63, {}},
    {77, {8, writes}},
    {78, {8, writes, 8}},
    {79, {8, writes, 512}},
    {84, {1, writes}},
    {85, {2, writes}},
    {86, {1, reads}},
    {87, {1, reads}},
    {88, {1, reads}},
    {89, {1, reads}},
    {90, {2, reads}},
    {91, {2, reads}},
    {110, {8, 3, 8}},
    {111, {8, 3, 512}},
    {118, {8, reads}},
    {119, {8, reads, 8}},
    {120, {8, reads, 512}},
    {126, {8, 3}},
    {182, {4, reads}},
    {183, {4, 3}},
    {184, {4, 3}},
    {189, {4, 3}},
    {190, {4, 3}},
    {222, {12, writes}},
    {223, {16, writes}},
    {224, {8, reads}},
    {225, {12, reads}},
    {226, {8, reads}},
    {227, {8, reads}},
    {254, {12, reads}},
    {255, {16, reads}},
};

Use ds_use(unsigned op) {
  const Row* row =
      std::find_if(std::begin(ds_rows), std::end(ds_rows), [op](const Row& one) { return one.op == op; });
  if (row != std::end(ds_rows)) {
    return row->use;
  }
  return op < 128 ? Use{static_cast<uint8_t>(op & 64 ? 8 : 4), reads | writes} : Use{};
}

// FLAT's and MUBUF's opcodes are the same.
Use memory_use(unsigned op) {
  constexpr uint8_t bytes[] = {1, 1, 2, 2, 4, 8, 12, 16};
  if (is_atomic(op)) {
    return {static_cast<uint8_t>(atomic_dwords(static_cast<AtomicOp>(op)) * 4), reads | writes};
  }
  if (op >= 16 && op < 32) {
    return {bytes[op % 8], op < 24 ? reads : writes};
  }
  return op >= 32 && op < 38 ? Use{static_cast<uint8_t>(op < 36 ? 1 : 2), reads} : Use{};
}

// Of a load into LDS: a dword at least.
unsigned slot_of(const Inst& inst) { return std::max(1u, unsigned{inst.data_dwords}) * 4; }

class LdsCheck {
 public:
  LdsCheck(Wave& wave, const Inst& inst)
      : m_wave(wave), m_inst(inst), m_written(wave.workgroup->lds_written) {
    m_written.resize(wave.workgroup->lds.size());
  }

  // All reads first: lanes write when all have read.
  template <typename Place>
  void access(const Use& use, Place&& place) {
    if (use.kind & reads) {
      for_active([&](unsigned lane) { read(place(lane), use.bytes, lane); });
    }
    if (use.kind & writes) {
      for_active([&](unsigned lane) { write(place(lane), use.bytes); });
    }
  }

 private:
  Wave& m_wave;
  const Inst& m_inst;
  std::vector<bool>& m_written;
  bool m_told = false;

  template <typename Body>
  void for_active(Body&& body) {
    for (uint64_t exec = m_wave.exec(); exec != 0; exec &= exec - 1) {
      body(static_cast<unsigned>(__builtin_ctzll(exec)));
    }
  }

  // What is out of range is the handler's to say.
  uint64_t end_of(uint64_t begin, unsigned bytes) const {
    return std::min<uint64_t>(begin + bytes, m_written.size());
  }

  void read(uint64_t begin, unsigned bytes, unsigned lane) {
    for (uint64_t at = begin; at < end_of(begin, bytes) && !m_told; ++at) {
      if (!m_written[at]) {
        char text[80];
        std::snprintf(text, sizeof text, "reads LDS that nothing wrote: byte 0x%llx, lane %u",
                      static_cast<unsigned long long>(at), lane);
        report_finding(m_wave, m_inst, Rule::lds, text);
        m_told = true;
      }
    }
  }

  void write(uint64_t begin, unsigned bytes) {
    for (uint64_t at = begin; at < end_of(begin, bytes); ++at) {
      m_written[at] = true;
    }
  }
};

void check_ds(Wave& wave, const Inst& inst) {
  const Use use = ds_use(inst.op);
  if (inst.global_share || use.bytes == 0) {
    return;
  }
  const uint32_t* vector = wave.vgpr(inst.vaddr);
  const uint32_t m0 = wave.sgpr[code_m0], offset = static_cast<uint32_t>(inst.imm);
  LdsCheck check(wave, inst);
  if (use.unit != 0) {
    check.access(use, [&](unsigned lane) { return vector[lane] + (offset & 255) * use.unit; });
    check.access(use, [&](unsigned lane) { return vector[lane] + (offset >> 8) * use.unit; });
  } else if (inst.op == 29 || inst.op == 182) {  // ds_write_addtid_b32, ds_read_addtid_b32
    check.access(use, [&](unsigned lane) { return (m0 & 0xffff) + lane * 4 + offset; });
  } else if (inst.op == 189 || inst.op == 190) {  // ds_consume, ds_append
    check.access(use, [&](unsigned) { return (m0 & 0xffff) + offset; });
  } else if (inst.op == 126) {  // ds_condxchg32_rtn_b64
    check.access(use, [&](unsigned lane) { return (vector[lane] + offset) & 0xfff8u; });
  } else {
    check.access(use, [&](unsigned lane) { return vector[lane] + offset; });
  }
}

void check_flat(Wave& wave, const Inst& inst) {
  const uint32_t *low = wave.vgpr(inst.vaddr), *high = wave.vgpr(inst.vaddr + 1u);
  const auto offset = static_cast<uint64_t>(int64_t{inst.imm});
  LdsCheck(wave, inst).access(memory_use(inst.op), [&](unsigned lane) {
    const uint64_t address = (low[lane] | uint64_t{high[lane]} << 32) + offset;
    return (address & 0xffffffff00000000u) == shared_aperture ? address & 0xffffffffu : ~uint64_t{0} >> 1;
  });
}

void check_load(Wave& wave, const Inst& inst) {
  const uint64_t base = (wave.sgpr[code_m0] & 0x3ffffu) + static_cast<uint64_t>(int64_t{inst.imm});
  const unsigned slot = slot_of(inst);
  LdsCheck(wave, inst).access({static_cast<uint8_t>(slot), writes}, [&](unsigned lane) {
    return base + uint64_t{lane} * slot;
  });
}

}  // namespace

void check_lds(Wave& wave, const Inst& inst) {
  if (inst.encoding == Encoding::ds) {
    check_ds(wave, inst);
  } else if (inst.to_lds) {
    check_load(wave, inst);
  } else if (inst.encoding == Encoding::flat && inst.segment == Segment::flat) {
    check_flat(wave, inst);
  }
}

}  // namespace ktrace::softdev
