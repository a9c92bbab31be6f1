// Machine profile: immutable facts of one computer, each number with its deviation and source.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/units.hpp"

namespace sluice::planner {

enum class Source { measured, datasheet, estimated };

/// A number of a profile. `note` is the datasheet and its date, or the rule of an estimate.
struct Fact {
  double value = 0;
  double deviation = 0;    ///< Standard deviation, same unit.
  std::int64_t count = 1;  ///< Samples behind it.
  Source source = Source::datasheet;
  std::string note;
};

enum class DeviceKind { host, cuda };

/// A number that a profile need not have.
[[nodiscard]] inline Fact not_fitted() {
  return {
      .value = 0, .deviation = 0, .count = 0, .source = Source::estimated, .note = "not fitted"};
}

/// A measured point of a kernel curve: `size` is FLOPs of one product, or bytes; `rate` per second.
struct CurvePoint {
  double size;
  Fact rate;
};

/// Causal attention as measured over sequences of one length, with heads of one size.
struct AttentionPoint {
  std::int64_t head_dim, length;
  /// FLOP/s. Backward without what the cost model counts besides: sums of gradients, and keys that
  /// runs of one head read.
  Fact forward, backward;
};

struct MachineProfile {
  std::string name;
  DeviceKind device = DeviceKind::host;
  std::string architecture;  ///< "sm_90", "x86_64-avx512", ...
  // Capacities, bytes.
  Fact hbm, host, disk;
  Fact context;  ///< Bytes of `hbm` that a process takes besides its arena: context, libraries.
  Fact cores;    ///< Cores usable by the CPU side.
  // Links. GB/s etc. are for humans; here bare SI.
  Fact h2d, d2h;                ///< Bytes/s alone.
  Fact h2d_duplex, d2h_duplex;  ///< Bytes/s, both directions at once.
  Fact copy_latency;            ///< Seconds.
  /// Seconds between copies that follow each other on a lane; 0: nobody measured it.
  Fact copy_gap{.value = 0,
                .deviation = 0,
                .count = 0,
                .source = Source::estimated,
                .note = "not measured: copies follow each other at once"};
  Fact staged_copy;            ///< Bytes/s each way through a pinned ring, where little is pinned.
  Fact dram;                   ///< Bytes/s the host memory moves under load.
  Fact hbm_bandwidth;          ///< Bytes/s of the device's memory (element-wise kernels).
  Fact disk_read, disk_write;  ///< Bytes/s, each alone.
  /// Bytes/s read and written at once, where that is a limit of its own; 0: none is known.
  Fact disk_both{.value = 0,
                 .deviation = 0,
                 .count = 0,
                 .source = Source::estimated,
                 .note = "not measured: reading and writing as if apart"};
  /// Blocks in flight each way with which the disk is fastest; 0: nobody measured it.
  Fact disk_depth{
      .value = 0, .deviation = 0, .count = 0, .source = Source::estimated, .note = "not measured"};
  /// Bytes that may be written to the disk by its maker's rating; 0: nobody stated one.
  Fact disk_endurance{
      .value = 0, .deviation = 0, .count = 0, .source = Source::estimated, .note = "not stated"};
  // DRAM units used per byte copied / per parameter updated.
  Fact h2d_dram, d2h_dram, update_dram;
  // How firmly copies hold their rate where host memory is full: sharing weight over the rate
  // alone, the optimizer's being 1; 0 where nobody fitted it (planner/costs/cost_model.hpp then has
  // its own).
  Fact h2d_weight, d2h_weight;
  // Core-seconds used per byte copied (host backend: the copying thread); zero on CUDA.
  Fact copy_cores;
  // Kernels.
  Fact peak_bf16;                              ///< Dense FLOP/s; the denominator of MFU.
  std::vector<CurvePoint> gemm;                ///< FLOP/s by FLOPs of the product.
  Fact attention_forward, attention_backward;  ///< FLOP/s of causal attention.
  /// By head_dim, then length; where there are none, the two facts above and their ceilings stand
  /// for all shapes.
  std::vector<AttentionPoint> attention;
  /// The most FLOP/s that any shape reached: what no kernel known for the machine beats.
  Fact gemm_ceiling, attention_forward_ceiling, attention_backward_ceiling;
  Fact launch;                          ///< Seconds a kernel launch occupies the launcher.
  Fact kernel_overhead;                 ///< Seconds of device time a kernel costs besides its work.
  std::map<std::int64_t, Fact> update;  ///< Parameters/s of the CPU optimizer by threads.
  Fact device_update;                   ///< Parameters/s of the optimizer on the device.
  /// Tasks of lane `on` run `factor` times as fast while a task of lane `from` runs. A pair may be
  /// stated for several thread counts of the CPU optimizer.
  struct Interference {
    std::string on, from;
    Fact factor;
    std::int64_t threads = 0;  ///< Of the CPU optimizer, where it was found; 0: any.
  };
  std::vector<Interference> interference;
  /// Of a device under a power cap (sim/boost.hpp): how much faster products run for each unit of
  /// rest, the most that they run faster after any, both over sustained, and the seconds over which
  /// rest is averaged. 0: nobody fitted it, and rest changes nothing.
  Fact boost_gain = not_fitted(), boost_most = not_fitted(), boost_window = not_fitted();
  std::optional<double> price_usd;  ///< Never guessed: only from a prices file.
};

/// Hash of every number of the profile.
[[nodiscard]] std::string profile_hash(const MachineProfile& profile);

}  // namespace sluice::planner
