#include "planner/plans/disk_state.hpp"

#include <algorithm>

namespace sluice::planner {
namespace {

constexpr std::int64_t kHalf = 2;
/// Number of elements of which every plane is a whole number of disk blocks, whatever the element's
/// size.
constexpr std::int64_t kWholePlane = kDiskBlock.count() / 2;

std::int64_t disk_round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

Bytes plane(std::int64_t elements, std::int64_t element) {
  return aligned_plane(elements, Bytes(element));
}

}  // namespace

Bytes aligned_plane(std::int64_t elements, Bytes element) {
  return Bytes(disk_round_up(elements * element.count(), kDiskAlign.count()));
}

Bytes waiting_element(const Job& job, std::int64_t rounds) {
  return rounds > 1 ? job.gradient_element() : job.gradient_wire_element();
}

bool may_use_disk(const Job& job) {
  return job.optimizer.state != StateType::bf16_weights &&
         job.optimizer.kind == OptimizerKind::adamw;
}

Bytes disk_state_bytes(const Job& job, std::int64_t parameters) {
  return (job.master_bytes(1) - job.weight_element()) * parameters +
         job.moment_bytes(parameters) * 2;
}

std::vector<DiskPiece> disk_pieces(const Job& job, const Plan& plan, const UnitPlan& unit,
                                   std::int64_t parameters) {
  const Bytes gradient =
      unit.gradients == Tier::disk ? waiting_element(job, plan.rounds) : Bytes(0);
  const std::int64_t low = (job.master_bytes(1) - job.weight_element()).count();
  const Bytes weights = unit.weights == Tier::disk ? job.weight_element() : Bytes(0);
  const Bytes least = disk_state_bytes(job, kWholePlane) + (gradient + weights) * kWholePlane;
  const std::int64_t most =
      std::max<std::int64_t>(1, plan.disk_buffer.count() / least.count()) * kWholePlane;
  const std::int64_t pieces = (parameters + most - 1) / most;
  const std::int64_t each = disk_round_up((parameters + pieces - 1) / pieces, kWholePlane);
  std::vector<DiskPiece> all;
  Bytes offset{0}, gradient_offset{0}, weights_offset{0};
  for (std::int64_t first = 0; first < parameters; first += each) {
    DiskPiece piece{.first = first, .count = std::min(each, parameters - first)};
    piece.offset = offset;
    piece.moment1 = plane(piece.count, low);
    const Bytes moment = aligned_plane(1, job.moment_bytes(piece.count));
    piece.moment2 = piece.moment1 + moment;
    piece.bytes = piece.moment2 + moment;
    offset += Bytes(disk_round_up(piece.bytes.count(), kDiskBlock.count()));
    piece.gradient_offset = gradient_offset;
    piece.gradient_bytes = plane(piece.count, gradient.count());
    gradient_offset += Bytes(disk_round_up(piece.gradient_bytes.count(), kDiskBlock.count()));
    piece.weights_offset = weights_offset;
    if (unit.weights == Tier::disk) {
      const Bytes half = plane(piece.count, kHalf);
      const bool both = weights.count() > kHalf;
      if (both) piece.weights_low = half;
      piece.weights_bytes = both ? half * 2 : half;
      weights_offset += Bytes(disk_round_up(piece.weights_bytes.count(), kDiskBlock.count()));
    }
    all.push_back(piece);
  }
  return all;
}

Bytes disk_bytes(const std::vector<DiskPiece>& pieces) {
  return pieces.empty() ? Bytes(0) : pieces.back().offset + pieces.back().bytes;
}

Bytes waiting_bytes(const std::vector<DiskPiece>& pieces) {
  return pieces.empty() ? Bytes(0) : pieces.back().gradient_offset + pieces.back().gradient_bytes;
}

Bytes weights_on_disk(const std::vector<DiskPiece>& pieces) {
  return pieces.empty() ? Bytes(0) : pieces.back().weights_offset + pieces.back().weights_bytes;
}

}  // namespace sluice::planner
