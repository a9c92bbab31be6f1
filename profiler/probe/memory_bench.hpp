// Loads of host memory that the probe times: plain copies, paced copies, the optimizer, reading and
// the triad.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/host/paced_copy.hpp"
#include "engine/optimizer/adamw.hpp"
#include "engine/optimizer/thread_pool.hpp"
#include "profiler/probe/aligned_memory.hpp"
#include "sim/units.hpp"

namespace sluice::profiler {

/// Copies between two buffers of `bytes` each in host memory, for a caller to time: copy() on
/// `threads` threads, paced() on the calling one.
class CopyBench {
 public:
  CopyBench(Bytes bytes, int threads);
  void copy();
  void paced(const engine::LinkPace& pace);
  [[nodiscard]] Bytes bytes() const { return Bytes(static_cast<std::int64_t>(source_.size())); }

 private:
  std::vector<std::byte> source_, destination_;
  engine::ThreadPool pool_;
};

/// The 12-byte optimizer state of `parameters` parameters with a gradient, and a fused update of
/// it. Its arrays begin at cache lines as a unit's do; otherwise the optimizer would take its slow
/// path.
class UpdateBench {
 public:
  UpdateBench(std::int64_t parameters, int threads, ProbeMemory* supply = nullptr);
  void update() { update(pool_.threads()); }
  /// Updates all parameters on `threads` threads, at most the constructor's number.
  void update(int threads);
  [[nodiscard]] std::int64_t parameters() const { return parameters_; }

 private:
  std::int64_t parameters_;
  AlignedMemory high_, low_, m_, v_, gradient_;
  engine::ThreadPool pool_;
};

/// Loads of host memory by plain loops, with whose rates the optimizer's is compared.
class DramBench {
 public:
  /// Allocates three arrays of `bytes` bytes each, and `threads` threads; from `supply` where
  /// given.
  DramBench(Bytes bytes, int threads, ProbeMemory* supply = nullptr);
  void read(int threads);  ///< Reads one array on `threads` threads.
  /// Computes a = b + s c on `threads` threads, with stores past the caches.
  void triad(int threads);
  [[nodiscard]] double read_bytes() const {
    return static_cast<double>(a_.as<float>().size_bytes());
  }
  [[nodiscard]] double triad_bytes() const { return 3 * read_bytes(); }
  /// A sum over everything that was read; using it keeps the compiler from leaving reads out.
  [[nodiscard]] std::uint64_t sum() const { return sum_; }

 private:
  AlignedMemory a_, b_, c_;
  engine::ThreadPool pool_;
  std::uint64_t sum_ = 0;
};

/// `count` samples of one hand-off between threads in seconds: the time from waking a sleeping
/// thread to its first instruction and back, halved.
[[nodiscard]] std::vector<double> hand_off_times(int count);

}  // namespace sluice::profiler
