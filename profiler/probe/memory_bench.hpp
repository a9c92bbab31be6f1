// Loads of host memory that the probe times: plain copies, paced copies and the optimizer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/adamw.hpp"
#include "engine/host/paced_copy.hpp"
#include "engine/thread_pool.hpp"
#include "sim/units.hpp"

namespace sluice::profiler {

/// Copies between two buffers of `bytes`, on `threads` threads.
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

/// The 12-byte state of `parameters` and one fused update of it.
class UpdateBench {
 public:
  UpdateBench(std::int64_t parameters, int threads);
  void update();
  [[nodiscard]] std::int64_t parameters() const {
    return static_cast<std::int64_t>(gradient_.size());
  }

 private:
  std::vector<std::uint16_t> high_, low_;
  std::vector<float> m_, v_, gradient_;
  engine::ThreadPool pool_;
  int threads_;
};

/// Seconds from waking a sleeping thread to its first instruction and back, halved: one hand-off.
[[nodiscard]] std::vector<double> hand_off_times(int count);

}  // namespace sluice::profiler
