#include "planner/guided/usual_values.hpp"

#include <algorithm>

namespace sluice::planner {
namespace {

/// Bytes that cross the slower link in `time`, as a power of two of at least 64 KiB.
Bytes chunk_of(const Predictor& predictor, Seconds time) {
  const MachineProfile& profile = predictor.machine().profile;
  const double bytes = std::min(profile.h2d.value, profile.d2h.value).count() * time.count();
  std::int64_t chunk = 64 << 10;
  while (static_cast<double>(chunk) * 2 <= bytes) chunk *= 2;
  return Bytes(chunk);
}

}  // namespace

std::int64_t cores_of(const Predictor& predictor) {
  const auto cores = static_cast<std::int64_t>(predictor.machine().profile.cores.value);
  return std::max<std::int64_t>(1, cores / predictor.ranks());
}

std::int64_t usual_state_slots(const Predictor& predictor) {
  // Loads, updates and stores of three blocks go on at once.
  return std::min<std::int64_t>(3, predictor.part().model.layers);
}

std::int64_t usual_threads(const Predictor& predictor) {
  const std::int64_t cores = cores_of(predictor);
  if (predictor.machine().profile.device == DeviceKind::host) {
    return std::max<std::int64_t>(1, cores - 1);
  }
  return std::max<std::int64_t>(1, cores - (cores > 4 ? 2 : 0));
}

Bytes usual_chunk(const Predictor& predictor) {
  // A few dozen chunks a block are as good as hundreds, and far fewer tasks.
  constexpr std::int64_t kMostOfBlock = 24;
  const Job& job = predictor.part();
  const std::int64_t block = 2 * unit_padded_size(job.model, 1);
  Bytes chunk =
      chunk_of(predictor, predictor.machine().profile.device == DeviceKind::cuda ? Seconds(2e-3)
                                                                                 : Seconds(20e-3));
  while (chunk * kMostOfBlock < Bytes(block)) chunk = chunk * 2;
  return chunk;
}

}  // namespace sluice::planner
