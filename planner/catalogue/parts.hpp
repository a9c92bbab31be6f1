// What a computer is put together from, as the catalogue states it: GPUs, CPUs with their boards,
// memory modules, SSDs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/units.hpp"

namespace sluice::planner {

enum class HostLink {
  pcie3,
  pcie4,
  pcie5,
  c2c,        ///< NVLink-C2C, one GPU a CPU.
  c2c_shared  ///< NVLink-C2C, two GPUs a CPU.
};

struct GpuPart {
  std::string name;
  std::string architecture;
  Bytes memory{0};
  bool inline_ecc = false;  ///< A sixteenth of the memory holds check bits.
  BytesPerSecond bandwidth{0};
  FlopsPerSecond peak{0};     ///< Dense bf16 with fp32 accumulate.
  double peak_deviation = 0;  ///< Relative; above 0 where it is derived from another number.
  HostLink link = HostLink::pcie4;
  double watts = 0;
  std::string like;  ///< The measured GPU whose kernel curves it takes.
  /// Rate of large products; none: those measured of `like`, as they are.
  std::optional<FlopsPerSecond> saturated;
  double saturated_deviation = 0;  ///< Relative.
  std::string rule;                ///< Where `saturated` comes from, in words.
  std::int64_t node_gpus = 1;      ///< GPUs of the smallest host it is sold in.
  std::string source;
};

/// A CPU on a board with all its slots.
struct CpuPart {
  std::string name;
  std::int64_t cores = 0;
  int pcie = 0;            ///< Generation.
  std::int64_t lanes = 0;  ///< For GPU and SSDs.
  std::string memory;      ///< "DDR5"
  std::int64_t channels = 0, slots = 0;
  std::vector<std::int64_t> counts;      ///< Of modules that work.
  std::vector<std::int64_t> speeds;      ///< MT/s with one module a channel, with two.
  std::vector<std::int64_t> module_gib;  ///< Sizes of modules.
  bool c2c = false;                      ///< Joined to its GPU by NVLink-C2C.
  bool server = false;                   ///< On boards of nodes with several GPU modules.
  std::string source;
};

struct SsdPart {
  std::string name;
  int pcie = 0;
  Bytes size{0};
  BytesPerSecond read{0}, write{0};
  double endurance = 0;  ///< Bytes that may be written a byte of size.
  std::string source;
};

/// "4x32 GiB DDR5-5600".
struct MemoryKit {
  std::int64_t count = 0;
  std::int64_t module_gib = 0;
  std::string kind;
  std::int64_t speed = 0;  ///< MT/s.
  [[nodiscard]] Bytes total() const { return Bytes((count * module_gib) << 30); }
  friend bool operator==(const MemoryKit&, const MemoryKit&) = default;
};
[[nodiscard]] std::string to_text(const MemoryKit& kit);
/// "32 GiB DDR5-5600": one module, as price files name it.
[[nodiscard]] std::string module_text(const MemoryKit& kit);

/// "2x gen4".
struct SsdSet {
  std::int64_t count = 0;
  std::string kind;
  friend bool operator==(const SsdSet&, const SsdSet&) = default;
};
[[nodiscard]] std::string to_text(const SsdSet& set);

[[nodiscard]] const std::vector<GpuPart>& gpu_parts();
[[nodiscard]] const std::vector<CpuPart>& cpu_parts();
[[nodiscard]] const std::vector<SsdPart>& ssd_parts();

/// Throw BadRequest `FIELD: "name" is unknown; did you mean ...; one of ...`.
[[nodiscard]] const GpuPart& find_gpu(const std::string& name, const std::string& field = "gpu");
[[nodiscard]] const CpuPart& find_cpu(const std::string& name, const std::string& field = "cpu");
[[nodiscard]] const SsdPart& find_ssd(const std::string& name, const std::string& field = "ssd");

/// Throw BadRequest naming `field` and how to write it. Only the wording is checked here; whether a
/// CPU takes the modules, check() of planner/catalogue/composed_machine.hpp says.
[[nodiscard]] MemoryKit parse_memory_kit(const std::string& text, const std::string& field = "ram");
[[nodiscard]] SsdSet parse_ssd_set(const std::string& text, const std::string& field = "ssd");

/// Speeds that modules of a kind are made for, MT/s, ascending.
[[nodiscard]] const std::vector<std::int64_t>& module_speeds(const std::string& kind);

[[nodiscard]] const char* to_string(HostLink link);

}  // namespace sluice::planner
