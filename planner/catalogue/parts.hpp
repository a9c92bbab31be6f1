// Parts of which a computer is put together: GPUs, CPUs with their boards, memory modules, SSDs.
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
  c2c,         ///< NVLink-C2C between one CPU and one GPU.
  c2c_shared,  ///< NVLink-C2C between one CPU and two GPUs, which share it.
  pcie5_x8,    ///< Eight lanes of PCIe 5, on a card that has no more.
  unified      ///< One memory that CPU and GPU share, so that copies stay in it.
};

/// Host memory and cores of a node, as clouds sell them with all of its GPUs.
struct NodeHost {
  Bytes memory{0};
  std::int64_t cores = 0;
  std::string source;
};

struct GpuPart {
  std::string name;
  std::string architecture;
  Bytes memory{0};
  /// Whether a sixteenth of the memory holds check bits and cannot be used.
  bool inline_ecc = false;
  BytesPerSecond bandwidth{0};
  FlopsPerSecond peak{0};  ///< Dense bf16 FLOP/s with fp32 accumulation.
  /// Relative standard deviation of `peak` (0.1 is 10 %): 0 where a datasheet states `peak`, above
  /// 0 where it is derived from another number.
  double peak_deviation = 0;
  HostLink link = HostLink::pcie4;
  /// Name of what connects several of this GPU in one host (parts/fabrics.json); empty where
  /// nothing is known of it, and where each has a host of its own.
  std::string fabric = {};
  double watts = 0;
  std::string like;  ///< Name of the measured GPU whose kernel rates stand for this one's, scaled.
  /// FLOP/s of large matrix products; none where the rates measured on `like` hold unchanged.
  std::optional<FlopsPerSecond> saturated;
  double saturated_deviation = 0;  ///< Relative standard deviation of `saturated`: 0.1 is 10 %.
  /// How `saturated` was derived, in words; the note of each rate scaled by it repeats them.
  std::string rule;
  std::int64_t node_gpus = 1;  ///< Number of GPUs in the smallest host that this GPU is sold in.
  /// The usual host of nodes of this GPU; none where it is not sold in nodes, or not known.
  std::optional<NodeHost> node = {};
  /// Bytes/s of the GPU's link to other GPUs of its node, each way; 0 where it has none.
  BytesPerSecond node_link{0};
  /// Whether the GPU is sold in some countries alone.
  bool is_rare = false;
  std::string source;
};

/// A CPU on a board that has all of the CPU's slots.
struct CpuPart {
  std::string name;
  std::int64_t cores = 0;
  int pcie = 0;            ///< PCIe generation of CPU and board, such as 4.
  std::int64_t lanes = 0;  ///< Number of PCIe lanes for GPU and SSDs together.
  std::string memory;      ///< Kind of memory modules that the board takes, such as "DDR5".
  std::int64_t channels = 0, slots = 0;
  std::vector<std::int64_t> counts;  ///< Numbers of memory modules with which the board works.
  /// Fastest speeds of the memory in MT/s: at index 0 with one module a channel, at index 1, where
  /// it is there, with two.
  std::vector<std::int64_t> speeds;
  std::vector<std::int64_t> module_gib;  ///< Sizes of modules that the board takes, in GiB.
  bool c2c = false;                      ///< Whether the CPU is joined to its GPU by NVLink-C2C.
  /// Name of the GPU whose memory is the CPU's too (HostLink::unified), which it comes with alone;
  /// empty for other CPUs.
  std::string unified_with = {};
  bool is_arm = false;  ///< Whether the CPU runs aarch64 programs.
  bool server = false;  ///< Whether the CPU is sold on boards of nodes with several GPU modules.
  std::string source;
};

struct SsdPart {
  std::string name;
  int pcie = 0;
  Bytes size{0};
  BytesPerSecond read{0}, write{0};
  /// Bytes that may be written in the drive's life, per byte of its size, by its maker's rating.
  double endurance = 0;
  std::string source;
};

/// A set of equal memory modules, such as "4x32 GiB DDR5-5600".
struct MemoryKit {
  std::int64_t count = 0;
  std::int64_t module_gib = 0;
  std::string kind;
  std::int64_t speed = 0;  ///< Speed of the modules in MT/s.
  [[nodiscard]] Bytes total() const { return Bytes((count * module_gib) << 30); }
  friend bool operator==(const MemoryKit&, const MemoryKit&) = default;
};
[[nodiscard]] std::string to_text(const MemoryKit& kit);
/// One module of the kit as price files name it, such as "32 GiB DDR5-5600".
[[nodiscard]] std::string module_text(const MemoryKit& kit);

/// A set of equal SSDs, such as "2x gen4".
struct SsdSet {
  std::int64_t count = 0;
  std::string kind;
  friend bool operator==(const SsdSet&, const SsdSet&) = default;
};
[[nodiscard]] std::string to_text(const SsdSet& set);

[[nodiscard]] const std::vector<GpuPart>& gpu_parts();
[[nodiscard]] const std::vector<CpuPart>& cpu_parts();
[[nodiscard]] const std::vector<SsdPart>& ssd_parts();

/// Rule for the electric power of a machine of parts, in watts, from what makers state.
struct PowerRule {
  /// Watts of each core of the CPU, with the 90 % interval.
  double core = 0, core_low = 0, core_high = 0;
  /// Share (0 to 1) of its rated watts that a GPU draws at least; at most it draws all of them.
  double gpu_low = 0;
  std::string source;
};
[[nodiscard]] const PowerRule& power_rule();

/// The GPU part called `name`. Throws BadRequest `FIELD: "name" is unknown; did you mean ...; one
/// of ...`, as find_cpu and find_ssd do.
[[nodiscard]] const GpuPart& find_gpu(const std::string& name, const std::string& field = "gpu");
[[nodiscard]] const CpuPart& find_cpu(const std::string& name, const std::string& field = "cpu");
[[nodiscard]] const SsdPart& find_ssd(const std::string& name, const std::string& field = "ssd");

/// Parses a memory kit such as "4x32 GiB DDR5-5600". Throws BadRequest naming `field` and how to
/// write it. Checks only the wording; check_parts() of planner/catalogue/composed_machine.hpp says
/// whether a CPU takes the modules.
[[nodiscard]] MemoryKit parse_memory_kit(const std::string& text, const std::string& field = "ram");
[[nodiscard]] SsdSet parse_ssd_set(const std::string& text, const std::string& field = "ssd");

/// Speeds in MT/s, ascending, for which memory modules of this kind ("DDR5") are made.
[[nodiscard]] const std::vector<std::int64_t>& module_speeds(const std::string& kind);

[[nodiscard]] const char* to_string(HostLink link);

}  // namespace sluice::planner
