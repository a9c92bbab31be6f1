#include "engine/state/training_state.hpp"

#include <algorithm>
#include <map>
#include <mutex>

#include "engine/model_files/state_pieces.hpp"
#include "engine/optimizer/master_weights.hpp"
#include "engine/state/moment_values.hpp"
#include "planner/effort/parallel_for.hpp"
#include "planner/models/muon.hpp"
#include "planner/models/slices.hpp"
#include "planner/requests/phase_memory.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

constexpr std::int64_t kHalfBytes = 2;
constexpr std::int64_t kMomentBytes = 4;
/// Beginning of the names of tensors that are second moments of a unit.
const std::string kSecondPlane = "moment2/";

DiskPlane disk_plane(Plane plane) {
  switch (plane) {
    case Plane::high:
      return DiskPlane::high;
    case Plane::low:
      return DiskPlane::low;
    case Plane::m:
      return DiskPlane::moment1;
    case Plane::v:
      return DiskPlane::moment2;
    case Plane::m_scales:
      return DiskPlane::scales1;
    case Plane::v_scales:
      return DiskPlane::scales2;
  }
  throw std::logic_error("contract broken: a plane of the state is one of six");
}

}  // namespace

std::byte* UnitState::at(Plane plane) const {
  const std::array<std::byte*, kPlanes.size()> begin = {high, low, m, v, m, v};
  std::byte* found = begin[static_cast<std::size_t>(plane)];
  return found == nullptr || !is_scales(plane) ? found : found + scales_behind(elements);
}

TrainingState::TrainingState(const planner::ModelShape& shape, const planner::StepGraph& graph,
                             Device& device, DiskStore* disk)
    : TrainingState(shape, graph, {HeldRank{.rank = 0, .device = &device, .disk = disk}}) {}

TrainingState::TrainingState(const planner::ModelShape& shape, const planner::StepGraph& graph,
                             const std::vector<HeldRank>& held)
    : shape_(shape), type_(graph.state), ranks_(graph.ranks) {
  for (std::size_t unit = 0; unit < planner::unit_count(shape); ++unit) {
    slices_.push_back(planner::slice_parameters(planner::unit_padded_size(shape, unit), ranks_));
  }
  for (const HeldRank& each : held) held_.push_back(holding_of(graph, each));
  find_second(graph);
}

void TrainingState::find_second(const planner::StepGraph& graph) {
  second_.resize(slices_.size());
  if (type_ != planner::StateType::fp32) return;  // Muon's state is fp32.
  for (const planner::StepTensor& tensor : graph.tensors) {
    if (!tensor.name.starts_with(kSecondPlane)) continue;
    for (std::size_t unit = 0; unit < slices_.size(); ++unit) {
      const bool named = tensor.name == kSecondPlane + planner::unit_name(shape_, unit);
      if (!named || tensor.bytes.count() == kMomentBytes * slice(unit)) continue;
      const planner::UnitTensors tensors = planner::unit_tensors(shape_, unit);
      const planner::SecondMoments second = planner::muon_second_moments(tensors);
      check(ranks_ == 1 && kMomentBytes * second.elements == tensor.bytes.count(),
            "second moments are those of all tensors or of AdamW's");
      // An empty range, so that a unit whose tensors are all Muon's has a list, too.
      second_[unit].push_back({0, 0, 0});
      for (std::size_t i = 0; i < tensors.tensors.size(); ++i) {
        if (!second.begin[i]) continue;
        const planner::TensorSpec& each = tensors.tensors[i];
        second_[unit].push_back({each.offset, each.offset + each.size(), *second.begin[i]});
      }
    }
  }
}

template <class Visit>
void TrainingState::for_second(std::size_t unit, std::int64_t offset, std::int64_t bytes,
                               const Visit& visit) const {
  for (const SecondRange& range : second_[unit]) {
    const std::int64_t from = std::max(offset, kMomentBytes * range.begin);
    const std::int64_t to = std::min(offset + bytes, kMomentBytes * range.end);
    if (from >= to) continue;
    visit(kMomentBytes * (range.at - range.begin) + from, from - offset, to - from);
  }
}

TrainingState::Holding TrainingState::holding_of(const planner::StepGraph& graph,
                                                 const HeldRank& held) const {
  Holding holding{.place = held, .units = std::vector<UnitState>(slices_.size())};
  std::map<std::string, std::span<std::byte>> lasting;
  for (const planner::Placement& placement : graph.layout.placements) {
    const planner::StepTensor& tensor = graph.tensors[static_cast<std::size_t>(placement.tensor)];
    if (!tensor.persistent || tensor.arena == planner::Arena::disk) continue;
    lasting[tensor.name] = held.device->arena(tensor.arena)
                               .subspan(static_cast<std::size_t>(placement.offset.count()),
                                        static_cast<std::size_t>(tensor.bytes.count()));
  }
  const auto find = [&](const char* plane, const std::string& unit) {
    const auto found = lasting.find(std::string(plane) + "/" + unit);
    return found == lasting.end() ? std::span<std::byte>{} : found->second;
  };
  for (std::size_t unit = 0; unit < slices_.size(); ++unit) {
    const std::string name = planner::unit_name(shape_, unit);
    UnitState& state = holding.units[unit];
    state.elements = slice(unit);
    const std::span<std::byte> own_copy = find("weights_slice", name);
    const std::span<std::byte> copy = own_copy.empty() ? find("weights", name) : own_copy;
    state.high = find("master", name).data();
    state.m = find("moment1", name).data();
    state.v = find("moment2", name).data();
    state.copy = copy.data();
    state.copy_bytes = Bytes(static_cast<std::int64_t>(copy.size()));
    state.copy_first = own_copy.empty() ? 0 : slice(unit) * held.rank;
    state.copy_count = own_copy.empty() ? slice(unit) * ranks_ : slice(unit);
    const auto on_disk = [&](DiskPlane plane) {
      return held.disk != nullptr && held.disk->holds(unit, plane);
    };
    const std::int64_t own = kHalfBytes * slice(unit) * held.rank;
    const std::span<std::byte> shared = find("weights.shared", name);
    if (!shared.empty()) {
      state.high = shared.data() + own;
      if (!on_disk(DiskPlane::low)) {
        state.low = find("low.host", name).data();
        if (state.low == nullptr) state.low = state.high + kHalfBytes * slice(unit) * ranks_;
      }
    } else if (state.high == nullptr && ranks_ > 1 && state.copy != nullptr) {
      // The slice's high halves are among those of all slices, and so are low halves in fp32.
      state.high = state.copy + own;
      state.low = find("low", name).data();
      if (state.low == nullptr) state.low = state.high + kHalfBytes * slice(unit) * ranks_;
    } else if (!on_disk(DiskPlane::low)) {
      state.low = state.high + kHalfBytes * slice(unit);
    }
    check((state.high != nullptr || on_disk(DiskPlane::high)) &&
              (on_disk(DiskPlane::moment1) || (state.m != nullptr && state.v != nullptr)),
          "every unit's state lives somewhere");
  }
  return holding;
}

const TrainingState::Holding* TrainingState::holding(std::int64_t rank) const {
  const auto found =
      std::ranges::find(held_, rank, [](const Holding& each) { return each.place.rank; });
  return found == held_.end() ? nullptr : &*found;
}

template <class Visit>
void TrainingState::for_slices(std::size_t unit, Plane plane, std::int64_t offset,
                               std::int64_t bytes, const Visit& visit) const {
  const std::int64_t size = plane_size(plane, type_).of(slice(unit));
  for (std::int64_t done = 0; done < bytes;) {
    const std::int64_t at = offset + done;
    const std::int64_t count = std::min(bytes - done, size - at % size);
    visit(holding(at / size), at % size, done, count);
    done += count;
  }
}

bool TrainingState::holds(std::size_t unit, std::int64_t first, std::int64_t count) const {
  return std::ranges::any_of(held_, [&](const Holding& each) {
    const std::int64_t begin = slice(unit) * each.place.rank;
    const UnitState& state = each.units[unit];
    const bool copied = state.copy != nullptr && first < state.copy_first + state.copy_count &&
                        state.copy_first < first + count;
    return copied || (first < begin + slice(unit) && begin < first + count);
  });
}

void TrainingState::read_plane(std::size_t unit, Plane plane, std::int64_t offset,
                               std::span<std::byte> out) const {
  if (plane == Plane::v && lacks_second(unit)) {
    std::ranges::fill(out, std::byte{0});
    const Holding& own = held_.front();
    return for_second(unit, offset, std::ssize(out),
                      [&](std::int64_t at, std::int64_t begin, std::int64_t bytes) {
                        own.place.device->read(own.units[unit].v + at,
                                               out.subspan(static_cast<std::size_t>(begin),
                                                           static_cast<std::size_t>(bytes)));
                      });
  }
  for_slices(unit, plane, offset, std::ssize(out),
             [&](const Holding* held, std::int64_t at, std::int64_t begin, std::int64_t bytes) {
               check(held != nullptr, "a process reads the slices of its own ranks");
               const auto part =
                   out.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(bytes));
               const auto& [place, units] = *held;
               if (const std::byte* from = units[unit].at(plane)) {
                 return place.device->read(from + at, part);
               }
               place.disk->read(unit, disk_plane(plane), at, part);
             });
}

void TrainingState::write_plane(std::size_t unit, Plane plane, std::int64_t offset,
                                std::span<const std::byte> in) {
  if (plane == Plane::v && lacks_second(unit)) {
    const Holding& own = held_.front();
    return for_second(
        unit, offset, std::ssize(in), [&](std::int64_t at, std::int64_t begin, std::int64_t bytes) {
          own.place.device->write(
              in.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(bytes)),
              own.units[unit].v + at);
        });
  }
  for_slices(unit, plane, offset, std::ssize(in),
             [&](const Holding* held, std::int64_t at, std::int64_t begin, std::int64_t bytes) {
               if (held == nullptr) return;
               const auto part =
                   in.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(bytes));
               const auto& [place, units] = *held;
               if (std::byte* to = units[unit].at(plane)) {
                 return place.device->write(part, to + at);
               }
               place.disk->write(unit, disk_plane(plane), at, part);
             });
}

void TrainingState::clear_moments_in_memory() {
  for (const auto& [place, units] : held_) {
    for (std::size_t unit = 0; unit < units.size(); ++unit) {
      for (const Plane plane : moment_planes_of(type_)) {
        std::byte* begin = units[unit].at(plane);
        if (begin == nullptr) continue;
        // Codes behind the unit share the last block's scale, so they are cleared, too.
        const bool codes = type_ == planner::StateType::int8 && !is_scales(plane);
        const std::int64_t bytes = codes ? scales_behind(slice(unit)) : moment_bytes(unit, plane);
        place.device->clear(begin, static_cast<std::size_t>(bytes));
      }
    }
  }
}

void TrainingState::clear_moments_on_disk() {
  const std::span<const Plane> planes = moment_planes_of(type_);
  for (const Holding& each : held_) {
    if (each.place.disk == nullptr) continue;
    const std::size_t count = planes.size() * each.units.size();
    planner::parallel_for(count, state_threads(), [&](std::size_t i) {
      const std::size_t unit = i / planes.size();
      const Plane plane = planes[i % planes.size()];
      if (each.units[unit].at(plane) != nullptr) return;
      each.place.disk->clear(unit, disk_plane(plane), moment_bytes(unit, plane));
    });
  }
}

std::int64_t TrainingState::moment_bytes(std::size_t unit, Plane plane) const {
  const PlaneSize size = plane_size(plane, type_);
  if (plane != Plane::v || !lacks_second(unit)) return size.of(slice(unit));
  return size.of(planner::muon_second_moments(planner::unit_tensors(shape_, unit)).elements);
}

void TrainingState::write_weights(std::size_t unit, std::span<const std::uint16_t> high,
                                  std::span<const std::uint16_t> low) {
  write_halves(unit, 0, high, low);
}

void TrainingState::load(const LoadedState& from) {
  const bool moments = from.moments == LoadedState::Moments::loaded;
  const std::int64_t all = planner::parameter_count(shape_) * (moments ? 3 : 1);
  std::mutex mutex;
  std::int64_t done = 0;
  const StateProgress loaded = [&](std::int64_t elements, std::int64_t) {
    const std::lock_guard lock(mutex);
    done += elements;
    if (from.progress) from.progress(done, all);
  };
  clear_moments_in_memory();
  // Padding alone on the disk was never written, and reads as zero.
  if (!moments) clear_moments_on_disk();
  for (std::size_t unit = 0; unit < slices_.size(); ++unit) clear_padding(unit);
  load_weights(from, loaded);
  if (moments) load_moments(from, loaded);
}

void TrainingState::load_weights(const LoadedState& from, const StateProgress& loaded) {
  const StatePieces pieces(shape_, {StatePart::weights});
  planner::parallel_for(pieces.size(), state_threads(), [&](std::size_t i) {
    const StatePiece& piece = pieces[i];
    const std::int64_t offset = pieces.tensor(piece).offset + piece.first;
    if (holds(piece.unit, offset, piece.elements)) {
      std::vector<float> values(static_cast<std::size_t>(piece.elements));
      from.source.read(piece.part, piece.unit, pieces.tensor(piece), piece.first, values);
      write_masters(piece.unit, offset, values);
    }
    loaded(piece.elements, 0);
  });
}

/// Loads stretches of a unit's vector, for blocks that share a scale may reach over tensors.
void TrainingState::load_moments(const LoadedState& from, const StateProgress& loaded) {
  struct Stretch {
    std::size_t unit;
    StatePart part;
    std::int64_t first, elements;
  };
  std::vector<Stretch> stretches;
  for (std::size_t unit = 0; unit < slices_.size(); ++unit) {
    const std::int64_t padded = planner::unit_padded_size(shape_, unit);
    for (const StatePart part : {StatePart::m, StatePart::v}) {
      for (std::int64_t first = 0; first < padded; first += planner::kStatePiece) {
        stretches.push_back({unit, part, first, std::min(planner::kStatePiece, padded - first)});
      }
    }
  }
  planner::parallel_for(stretches.size(), state_threads(), [&](std::size_t i) {
    const auto [unit, part, first, elements] = stretches[i];
    const bool held = holds(unit, first, elements);
    std::vector<float> values(held ? static_cast<std::size_t>(elements) : 0);
    std::int64_t read = 0;
    for (const planner::TensorSpec& tensor : planner::unit_tensors(shape_, unit).tensors) {
      const std::int64_t begin = std::max(first, tensor.offset);
      const std::int64_t end = std::min(first + elements, tensor.offset + tensor.size());
      if (begin >= end) continue;
      read += end - begin;
      if (!held) continue;
      from.source.read(part, unit, tensor, begin - tensor.offset,
                       std::span(values).subspan(static_cast<std::size_t>(begin - first),
                                                 static_cast<std::size_t>(end - begin)));
    }
    if (held) {
      write_moments(
          type_, part, first, values,
          [&, unit = unit](Plane plane, std::int64_t at, std::span<const std::byte> bytes) {
            write_plane(unit, plane, at, bytes);
          });
    }
    loaded(read, 0);
  });
}

/// Zeroes the padding between and behind a unit's tensors, in the state and in every copy of it.
void TrainingState::clear_padding(std::size_t unit) {
  const planner::UnitTensors tensors = planner::unit_tensors(shape_, unit);
  for (std::size_t i = 0; i < tensors.tensors.size(); ++i) {
    const std::int64_t begin = tensors.tensors[i].offset + tensors.tensors[i].size();
    const std::int64_t end =
        i + 1 < tensors.tensors.size() ? tensors.tensors[i + 1].offset : slice(unit) * ranks_;
    if (begin == end) continue;
    const std::vector<std::uint16_t> zeros(static_cast<std::size_t>(end - begin));
    write_halves(unit, begin, zeros, zeros);
  }
}

void TrainingState::write_halves(std::size_t unit, std::int64_t offset,
                                 std::span<const std::uint16_t> high,
                                 std::span<const std::uint16_t> low) {
  write_plane(unit, Plane::high, kHalfBytes * offset, std::as_bytes(high));
  write_plane(unit, Plane::low, kHalfBytes * offset, std::as_bytes(low));
  // An update on the device refreshes copies; before the first step nothing else would.
  for (const auto& [place, units] : held_) {
    const UnitState& state = units[unit];
    if (state.copy == nullptr) continue;
    const std::int64_t begin = std::max(offset, state.copy_first);
    const std::int64_t end =
        std::min(offset + std::ssize(high), state.copy_first + state.copy_count);
    if (begin >= end) continue;
    const auto from = static_cast<std::size_t>(begin - offset);
    const auto count = static_cast<std::size_t>(end - begin);
    std::byte* to = state.copy + kHalfBytes * (begin - state.copy_first);
    place.device->write(std::as_bytes(high.subspan(from, count)), to);
    const std::int64_t halves = kHalfBytes * state.copy_count;
    if (state.copy_bytes.count() > halves) {
      place.device->write(std::as_bytes(low.subspan(from, count)), to + halves);
    }
  }
}

void TrainingState::write_masters(std::size_t unit, std::int64_t offset,
                                  std::span<const float> values) {
  std::vector<std::uint16_t> high(values.size()), low(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const SplitMaster halves = split_master(values[i]);
    high[i] = halves.high;
    low[i] = halves.low;
  }
  write_halves(unit, offset, high, low);
}

void TrainingState::read(StatePart part, std::size_t unit, const planner::TensorSpec& tensor,
                         std::int64_t first, std::span<float> out) const {
  const std::int64_t offset = tensor.offset + first;
  if (part != StatePart::weights) {
    return read_moments(type_, part, offset, out,
                        [&](Plane plane, std::int64_t at, std::span<std::byte> bytes) {
                          read_plane(unit, plane, at, bytes);
                        });
  }
  std::vector<std::uint16_t> high(out.size()), low(out.size());
  read_plane(unit, Plane::high, kHalfBytes * offset, std::as_writable_bytes(std::span(high)));
  read_plane(unit, Plane::low, kHalfBytes * offset, std::as_writable_bytes(std::span(low)));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = join_master({high[i], low[i]});
}

}  // namespace sluice::engine
