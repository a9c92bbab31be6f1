#include "engine/training_state.hpp"

#include <map>

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

TrainingState::TrainingState(const planner::ModelShape& shape, const planner::StepGraph& graph,
                             Device& device)
    : shape_(shape), device_(device), units_(planner::unit_count(shape)) {
  std::map<std::string, std::span<std::byte>> lasting;
  for (const planner::Placement& placement : graph.layout.placements) {
    const planner::StepTensor& tensor = graph.tensors[static_cast<std::size_t>(placement.tensor)];
    if (!tensor.persistent) continue;
    lasting[tensor.name] = device.arena(tensor.arena)
                               .subspan(static_cast<std::size_t>(placement.offset.count()),
                                        static_cast<std::size_t>(tensor.bytes.count()));
  }
  const auto find = [&](const char* plane, const std::string& unit) {
    const auto found = lasting.find(std::string(plane) + "/" + unit);
    return found == lasting.end() ? std::span<std::byte>{} : found->second;
  };
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    const std::string name = planner::unit_name(shape, unit);
    UnitState& state = units_[unit];
    const std::span<std::byte> copy = find("weights", name);
    state.high = find("master", name).data();
    state.m = find("moment1", name).data();
    state.v = find("moment2", name).data();
    state.copy = copy.data();
    state.copy_bytes = Bytes(static_cast<std::int64_t>(copy.size()));
    check(state.high != nullptr && state.m != nullptr && state.v != nullptr,
          "every unit's state lives somewhere");
    state.low = state.high + kHalfBytes * planner::unit_tensors(shape, unit).padded_size;
  }
}

void TrainingState::initialize(const InitialWeights& weights) {
  std::vector<std::uint16_t> high, low;
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    const auto padded = static_cast<std::size_t>(planner::unit_tensors(shape_, unit).padded_size);
    const bool alike = weights.alike_blocks && unit > 1 && unit + 1 < units_.size();
    if (!alike) {
      high.resize(padded);
      low.resize(padded);
      initialize_unit(shape_, unit, weights.seed, high.data(), low.data());
    }
    write_weights(unit, high, low);
    device_.clear(units_[unit].m, padded * kMomentBytes);
    device_.clear(units_[unit].v, padded * kMomentBytes);
  }
}

void TrainingState::write_weights(std::size_t unit, std::span<const std::uint16_t> high,
                                  std::span<const std::uint16_t> low) {
  const UnitState& state = units_[unit];
  device_.write(std::as_bytes(high), state.high);
  device_.write(std::as_bytes(low), state.low);
  if (state.copy == nullptr) return;
  // An update on the device refreshes its copy itself: nothing else would, before the first step.
  const auto halves = static_cast<std::int64_t>(high.size_bytes());
  device_.write(std::as_bytes(high), state.copy);
  if (state.copy_bytes.count() > halves) device_.write(std::as_bytes(low), state.copy + halves);
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
