// Machine profile: immutable facts of one computer, each number with its deviation and source.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/kernels/kernel_model.hpp"
#include "planner/machines/knowledge.hpp"
#include "planner/machines/lane.hpp"
#include "planner/machines/measured.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

enum class DeviceKind { host, cuda };

/// Stands for a number which nobody has measured or fitted, as `note` says: 0, from no samples.
template <class Quantity = double>
[[nodiscard]] Measured<Quantity> unknown(const std::string& note) {
  return {.count = 0, .source = Source::estimated, .note = note};
}
template <class Quantity = double>
[[nodiscard]] Measured<Quantity> not_fitted() {
  return unknown<Quantity>("not fitted");
}

/// A measured point of a collective's rate curve: `size` is bytes that a GPU receives.
struct CurvePoint {
  double size;
  Bandwidth rate;
};

/// A measured point of the rate curve of matrix products, whose `size` is that of one product.
struct ProductPoint {
  Flops size;
  FlopRate rate;
};

/// A slowdown of one lane by another: tasks of lane `on` run at `factor` times their rate while a
/// task of lane `from` runs. A pair may be stated once for each of several thread counts.
struct LaneSlowing {
  LaneKind on, from;
  Fact factor;
  /// Threads of the CPU optimizer for which `factor` was measured; 0 for any number.
  std::int64_t threads = 0;
};

/// What carries the bytes between the GPUs of one host.
enum class FabricPath {
  nvlink,  ///< Links of their own.
  pcie,    ///< The GPUs' PCIe links, from one GPU's memory to another's.
  host     ///< Host memory and the PCIe links, since no GPU reaches another's memory.
};

/// Times of an exchange among the GPUs of several hosts that is made in two: inside every host, and
/// then between GPUs with one place on their hosts.
struct FabricLevels {
  std::int64_t hosts = 1;
  /// Rates at which each GPU receives, by the bytes that it receives: from its own host's GPUs, and
  /// from those of other hosts while all places exchange.
  std::vector<CurvePoint> inside, between;
};

/// Times of collectives among the GPUs of one host, in which all of them take part at once.
struct Fabric {
  FabricPath path = FabricPath::nvlink;
  MeasuredTime latency;  ///< Time of a collective of few bytes.
  /// Rates at which each GPU receives from the others together, by the bytes that it receives:
  /// where every GPU's run of a tensor goes to all of them (gather), and where each GPU sends every
  /// other one a part of its own (exchange).
  std::vector<CurvePoint> gather, exchange;
  /// Slowdowns of the lane "fabric" by other lanes and of other lanes by it.
  std::vector<LaneSlowing> interference = {};
  std::int64_t hosts = 1;  ///< Number of hosts that hold the GPUs.
  /// With several hosts, where an exchange in two is faster.
  std::optional<FabricLevels> levels = std::nullopt;
};

/// Measured rate of causal attention over sequences of one length, with heads of one size.
struct AttentionPoint {
  std::int64_t head_dim, length;
  /// The backward pass's rate leaves out what the cost model counts separately
  /// (planner/scratch/attention_shape.hpp): sums of gradients over runs of queries, and keys that
  /// runs of one head read.
  FlopRate forward, backward;
};

/// Measured time of one pass of a step, as a probe that ran real blocks timed it.
struct MeasuredPass {
  /// Cost key of the pass (planner/costs/cost_key.hpp), which states its job's sizes.
  std::string key;
  Seconds time{0};         ///< Time of the pass alone on a device that never rests; above 0.
  Seconds deviation{0};    ///< Standard deviation of one measurement of `time`.
  std::int64_t count = 1;  ///< Number of measurements behind `time`.
  std::string note = {};
  friend bool operator==(const MeasuredPass&, const MeasuredPass&) = default;
};

/// The fastest that products in FP8 are taken to be beside bf16, twice what tensor cores gain.
inline constexpr double kMostFp8Speedup = 4;

struct MachineProfile {
  std::string name;
  DeviceKind device = DeviceKind::host;
  std::string architecture;  ///< Instruction set of the device, such as "sm_90" or "x86_64-avx512".
  // Capacities of the device's memory, the host's memory and the disk, in bytes.
  Fact hbm, host, disk;
  /// Bytes of device memory that a process takes besides its arena: driver context and libraries.
  Fact context;
  Fact cores;  ///< Number of cores that CPU work may use.
  // Links.
  /// Rates of copies to the device (from it) while none run in the other direction.
  Bandwidth h2d, d2h;
  /// Rates of copies to the device (from it) while others run in the other direction.
  Bandwidth h2d_duplex, d2h_duplex;
  MeasuredTime copy_latency;  ///< Time from the start of a copy until its bytes flow.
  /// Time from the end of a copy to the start of the next one on the same lane, where nothing
  /// else delays that; 0 where nobody measured it.
  MeasuredTime copy_gap = unknown<Seconds>("not measured: copies follow each other at once");
  /// Rate of copies in each direction through a small pinned ring, where little memory may be
  /// pinned.
  Bandwidth staged_copy;
  Bandwidth dram;           ///< What the host's memory moves under load, reads and writes together.
  Bandwidth hbm_bandwidth;  ///< Bandwidth of the device's memory, as element-wise kernels reach it.
  /// Rates of the disk while it only reads, and while it only writes.
  Bandwidth disk_read, disk_write;
  /// Rate of reads and writes together while the disk does both, where that is a limit of its
  /// own; 0 where none is known.
  Bandwidth disk_both = unknown<BytesPerSecond>("not measured: reading and writing as if apart");
  /// Number of reads, and of writes, that are in flight at one time where the disk is fastest; 0
  /// where nobody measured it.
  Fact disk_depth = unknown("not measured");
  /// Bytes that may be written to the disk in its life, by its maker's rating; 0 where nobody
  /// stated it.
  Fact disk_endurance = unknown("not stated");
  // Bytes of DRAM traffic per byte copied (h2d, d2h), and per parameter that the CPU updates.
  Fact h2d_dram, d2h_dram, update_dram;
  // Weight of a copy in the sharing of host memory, over the copy's rate alone; an optimizer update
  // has 1. 0 where nobody fitted it; planner/costs/cost_model.hpp then has a default.
  Fact h2d_weight, d2h_weight;
  // Core-seconds per byte copied by the host backend's copying thread; 0 on CUDA devices.
  Fact copy_cores;
  // Kernel rates.
  FlopRate peak_bf16;              ///< Dense bf16 peak of the device; the denominator of MFU.
  std::vector<ProductPoint> gemm;  ///< Rates of matrix products, by the size of one product.
  /// Time of a layer's products in bf16 over that with block-scaled FP8 operands: of forward
  /// products and input gradients, and of weight gradients. 0 where nobody measured it;
  /// planner/costs/fp8_work.hpp then has a rule. At most kMostFp8Speedup.
  Fact fp8_speedup = not_fitted(), fp8_gradient_speedup = not_fitted();
  /// Rates of causal attention where `attention` has none by shape.
  FlopRate attention_forward, attention_backward;
  /// Rates of causal attention, sorted by head_dim, then by length. Where it is empty,
  /// `attention_forward` and `attention_backward` and their ceilings stand for all shapes.
  std::vector<AttentionPoint> attention;
  /// Highest rates that any shape reached: no kernel known for the machine is faster.
  FlopRate gemm_ceiling, attention_forward_ceiling, attention_backward_ceiling;
  MeasuredTime launch;           ///< Time for which one kernel launch occupies the launch lane.
  MeasuredTime kernel_overhead;  ///< Device time that a kernel takes besides its work.
  /// Parameters/s of the CPU optimizer by its number of threads.
  std::map<std::int64_t, Fact> update;
  Fact device_update;  ///< Parameters/s of optimizer updates on the device.
  using Interference = LaneSlowing;
  std::vector<Interference> interference;
  /// Number of GPUs of the machine, which share its host memory, cores and disk; all other numbers
  /// are those of one of them. None where nobody stated it.
  std::optional<std::int64_t> devices;
  /// What connects the GPUs of the machine; none where it has one GPU, or nobody measured it.
  std::optional<Fabric> fabric;
  /// Boost of a device under a power cap (sim/boost.hpp): relative gain in speed per unit of rest;
  /// highest speed after any rest, over the sustained speed; and the time over which rest is
  /// averaged. All 0 where nobody fitted them: rest then changes nothing.
  Fact boost_gain = not_fitted(), boost_most = not_fitted();
  MeasuredTime boost_window = not_fitted<Seconds>();
  /// Depth of the probe that wrote the profile; not part of its hash.
  ProbeDepth probe = ProbeDepth::unstated;
  /// Passes of real blocks, each key once; empty where no probe ran any. Costs of other passes
  /// follow from them (planner/costs/sibling_costs.hpp).
  std::vector<MeasuredPass> passes;
  /// Kernel model that times matrix products and attention by their shape; it goes before `gemm`,
  /// `attention` and the attention rates. Null where nobody tabulated the device's kernels; either
  /// of the two families may be absent.
  std::shared_ptr<const KernelModel> kernels;
  std::optional<double> price_usd;  ///< Price in USD; only from a prices file, never guessed.
};

/// SHA-256 of the profile's name, device, architecture and all its numbers with their deviations,
/// counts and sources, as hexadecimal digits. Notes, the price and the probe's depth do not count.
[[nodiscard]] std::string profile_hash(const MachineProfile& profile);

}  // namespace sluice::planner
