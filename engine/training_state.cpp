#include "engine/training_state.hpp"

#include "engine/init.hpp"
#include "planner/hash.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

constexpr std::int64_t kHalfBytes = 2;
constexpr std::int64_t kMomentBytes = 4;
constexpr std::size_t kReadBytes = std::size_t{1} << 20;

/// Feeds `bytes` bytes at `source` (in an arena) to `sha`.
void absorb(planner::Sha256& sha, Device& device, const std::byte* source, std::int64_t bytes,
            std::vector<std::byte>& buffer) {
  for (std::int64_t at = 0; at < bytes;) {
    const auto part =
        static_cast<std::size_t>(std::min<std::int64_t>(bytes - at, std::ssize(buffer)));
    const std::span<std::byte> window = std::span(buffer).first(part);
    device.read(source + at, window);
    sha.update(window);
    at += static_cast<std::int64_t>(part);
  }
}

}  // namespace

TrainingState::TrainingState(const planner::ModelShape& shape, const Program& program,
                             Device& device)
    : shape_(shape), device_(device), units_(planner::unit_count(shape)) {
  for (const BoundTask& task : program.tasks()) {
    if (task.kind != planner::TaskKind::update) continue;
    const auto unit = static_cast<std::size_t>(task.unit);
    const std::int64_t padded = planner::unit_tensors(shape, unit).padded_size;
    const BoundAccess& weights = task.access(planner::Role::weights);
    UnitState& state = units_[unit];
    state.high = weights.data;
    state.low = weights.bytes.count() == 2 * kHalfBytes * padded
                    ? weights.data + kHalfBytes * padded
                    : task.access(planner::Role::low).data;
    state.m = task.access(planner::Role::moment1).data;
    state.v = task.access(planner::Role::moment2).data;
  }
  for (const UnitState& state : units_) check(state.v != nullptr, "every unit has an update task");
}

void TrainingState::initialize(std::uint64_t seed) {
  std::vector<std::uint16_t> high, low;
  std::vector<std::byte> zeros;
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    const auto padded = static_cast<std::size_t>(planner::unit_tensors(shape_, unit).padded_size);
    high.resize(padded);
    low.resize(padded);
    zeros.resize(padded * kMomentBytes);
    initialize_unit(shape_, unit, seed, high.data(), low.data());
    device_.write(std::as_bytes(std::span(high)), units_[unit].high);
    device_.write(std::as_bytes(std::span(low)), units_[unit].low);
    device_.write(zeros, units_[unit].m);
    device_.write(zeros, units_[unit].v);
  }
}

std::string TrainingState::weights_sha256() const {
  planner::Sha256 sha;
  std::vector<std::byte> buffer(kReadBytes);
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    for (const planner::TensorSpec& tensor : planner::unit_tensors(shape_, unit).tensors) {
      for (const std::byte* plane : {units_[unit].high, units_[unit].low}) {
        absorb(sha, device_, plane + kHalfBytes * tensor.offset, kHalfBytes * tensor.size(),
               buffer);
      }
    }
  }
  return sha.hex();
}

std::string TrainingState::state_sha256() const {
  planner::Sha256 sha;
  std::vector<std::byte> buffer(kReadBytes);
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    for (const planner::TensorSpec& tensor : planner::unit_tensors(shape_, unit).tensors) {
      for (const std::byte* moment : {units_[unit].m, units_[unit].v}) {
        absorb(sha, device_, moment + kMomentBytes * tensor.offset, kMomentBytes * tensor.size(),
               buffer);
      }
    }
  }
  return sha.hex();
}

}  // namespace sluice::engine
