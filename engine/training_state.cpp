#include "engine/training_state.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <thread>

#include "engine/init.hpp"
#include "engine/master_weights.hpp"
#include "engine/model_files/state_pieces.hpp"
#include "planner/hash.hpp"
#include "planner/parallel_for.hpp"
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
  write_halves(units_[unit], static_cast<std::int64_t>(high.size()), 0, high, low);
}

void TrainingState::load(const LoadedState& from) {
  std::vector<StatePart> parts = {StatePart::weights};
  if (from.moments == LoadedState::Moments::loaded) {
    parts.insert(parts.end(), {StatePart::m, StatePart::v});
  }
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    const auto padded = static_cast<std::size_t>(planner::unit_tensors(shape_, unit).padded_size);
    device_.clear(units_[unit].m, padded * kMomentBytes);
    device_.clear(units_[unit].v, padded * kMomentBytes);
    clear_padding(unit);
  }
  const StatePieces pieces(shape_, parts);
  std::mutex mutex;
  std::int64_t done = 0;
  planner::parallel_for(pieces.size(), std::thread::hardware_concurrency(), [&](std::size_t i) {
    const StatePiece& piece = pieces[i];
    std::vector<float> values(static_cast<std::size_t>(piece.elements));
    from.source.read(piece.part, piece.unit, pieces.tensor(piece), piece.first, values);
    write_piece(piece, pieces.tensor(piece).offset + piece.first, values);
    const std::lock_guard lock(mutex);
    done += piece.elements;
    if (from.progress) from.progress(done, pieces.elements());
  });
}

/// Zeroes what lies between and behind a unit's tensors, wherever copies of it stay.
void TrainingState::clear_padding(std::size_t unit) {
  const planner::UnitTensors tensors = planner::unit_tensors(shape_, unit);
  const UnitState& state = units_[unit];
  for (std::size_t i = 0; i < tensors.tensors.size(); ++i) {
    const std::int64_t begin = tensors.tensors[i].offset + tensors.tensors[i].size();
    const std::int64_t end =
        i + 1 < tensors.tensors.size() ? tensors.tensors[i + 1].offset : tensors.padded_size;
    if (begin == end) continue;
    const std::vector<std::uint16_t> zeros(static_cast<std::size_t>(end - begin));
    write_halves(state, tensors.padded_size, begin, zeros, zeros);
  }
}

void TrainingState::write_halves(const UnitState& state, std::int64_t padded, std::int64_t offset,
                                 std::span<const std::uint16_t> high,
                                 std::span<const std::uint16_t> low) {
  device_.write(std::as_bytes(high), state.high + kHalfBytes * offset);
  device_.write(std::as_bytes(low), state.low + kHalfBytes * offset);
  if (state.copy == nullptr) return;
  // An update on the device refreshes its copy itself: nothing else would, before the first step.
  const std::int64_t halves = kHalfBytes * padded;
  device_.write(std::as_bytes(high), state.copy + kHalfBytes * offset);
  if (state.copy_bytes.count() > halves) {
    device_.write(std::as_bytes(low), state.copy + halves + kHalfBytes * offset);
  }
}

void TrainingState::write_piece(const StatePiece& piece, std::int64_t offset,
                                std::span<const float> values) {
  const UnitState& state = units_[piece.unit];
  if (piece.part != StatePart::weights) {
    std::byte* moment = piece.part == StatePart::m ? state.m : state.v;
    return device_.write(std::as_bytes(values), moment + kMomentBytes * offset);
  }
  std::vector<std::uint16_t> high(values.size()), low(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const SplitMaster halves = split_master(values[i]);
    high[i] = halves.high;
    low[i] = halves.low;
  }
  write_halves(state, planner::unit_tensors(shape_, piece.unit).padded_size, offset, high, low);
}

void TrainingState::read(StatePart part, std::size_t unit, const planner::TensorSpec& tensor,
                         std::int64_t first, std::span<float> out) const {
  const UnitState& state = units_[unit];
  const std::int64_t offset = tensor.offset + first;
  if (part != StatePart::weights) {
    const std::byte* moment = part == StatePart::m ? state.m : state.v;
    return device_.read(moment + kMomentBytes * offset, std::as_writable_bytes(out));
  }
  std::vector<std::uint16_t> high(out.size()), low(out.size());
  device_.read(state.high + kHalfBytes * offset, std::as_writable_bytes(std::span(high)));
  device_.read(state.low + kHalfBytes * offset, std::as_writable_bytes(std::span(low)));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = join_master({high[i], low[i]});
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
