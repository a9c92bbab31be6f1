#include "planner/layout.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "planner/live_range.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

using Ranges = std::vector<std::array<LiveRange, 3>>;

Bytes rounded_up(Bytes bytes, Bytes unit) {
  return Bytes((bytes.count() + unit.count() - 1) / unit.count() * unit.count());
}

Bytes aligned(Bytes bytes) { return rounded_up(bytes, kPlacementAlign); }

struct Placed {
  std::size_t tensor;
  Bytes begin, end;

  bool operator<(const Placed& other) const {
    return std::pair(begin, end) < std::pair(other.begin, other.end);
  }
};

/// First-fit by decreasing size: the lowest gap among the tensors that are ever in use together
/// with this one.
class ArenaPacker {
 public:
  ArenaPacker(const StepGraph& graph, const Ranges& ranges, const HappensBefore& happens_before)
      : graph_(graph), ranges_(ranges), happens_before_(happens_before) {}

  Bytes place(std::size_t tensor) {
    const Bytes size = aligned(graph_.tensors[tensor].bytes);
    const Bytes alignment = graph_.tensors[tensor].alignment;
    Bytes offset{0};
    for (const Placed& other : placed_) {
      if (offset + size <= other.begin) break;
      if (other.end <= offset || !conflicts(tensor, other.tensor)) continue;
      offset = rounded_up(other.end, alignment);
    }
    const Placed placed{tensor, offset, offset + size};
    placed_.insert(std::upper_bound(placed_.begin(), placed_.end(), placed), placed);
    peak_ = std::max(peak_, placed.end);
    return offset;
  }

  /// Bytes of its own past everything placed so far that must not be shared.
  Bytes place_alone(std::size_t tensor) {
    const Bytes offset = rounded_up(alone_end_, graph_.tensors[tensor].alignment);
    alone_end_ = offset + aligned(graph_.tensors[tensor].bytes);
    return offset;
  }

  /// What is placed from now on keeps this alignment.
  void align_alone(Bytes alignment) { alone_end_ = rounded_up(alone_end_, alignment); }

  [[nodiscard]] Bytes alone() const { return alone_end_; }
  [[nodiscard]] Bytes peak() const { return alone_end_ + peak_; }

 private:
  bool conflicts(std::size_t a, std::size_t b) const {
    return !never_overlap(ranges_[a], ranges_[b], happens_before_);
  }

  const StepGraph& graph_;
  const Ranges& ranges_;
  const HappensBefore& happens_before_;
  std::vector<Placed> placed_;  ///< By where they begin, then end.
  Bytes peak_{0};
  Bytes alone_end_{0};
};

std::string task_name(const StepGraph& graph, sim::TaskId task) {
  return graph.graph.task(task).id;
}

std::optional<std::string> find_range_fault(const StepGraph& graph, const Placement& placement,
                                            const std::array<LiveRange, 3>& range) {
  const StepTensor& tensor = graph.tensors[static_cast<std::size_t>(placement.tensor)];
  if (range[1].empty()) return std::nullopt;
  if (range[1].first() != placement.first_task) {
    return tensor.name + ": first used by " + task_name(graph, range[1].first()) +
           ", placed from " + task_name(graph, placement.first_task);
  }
  if (range[1].last() != placement.last_task) {
    return tensor.name + ": last used by " + task_name(graph, range[1].last()) + ", placed until " +
           task_name(graph, placement.last_task);
  }
  return std::nullopt;
}

}  // namespace

Layout lay_out(const StepGraph& graph) {
  const HappensBefore happens_before(graph.graph);
  const Ranges ranges = live_ranges(graph);
  Layout layout;
  layout.placements.resize(graph.tensors.size());
  for (const Arena arena : {Arena::device, Arena::host, Arena::disk}) {
    ArenaPacker packer(graph, ranges, happens_before);
    std::vector<std::size_t> shared;
    for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
      const StepTensor& tensor = graph.tensors[i];
      if (tensor.arena != arena) continue;
      check(!ranges[i][1].empty(), "every tensor of a step graph is touched in every step");
      layout.placements[i] = {TensorIndex(static_cast<std::uint32_t>(i)), Bytes(0),
                              ranges[i][1].first(), ranges[i][1].last()};
      if (tensor.persistent) {
        layout.placements[i].offset = packer.place_alone(i);
      } else {
        shared.push_back(i);
      }
    }
    std::stable_sort(shared.begin(), shared.end(), [&](std::size_t a, std::size_t b) {
      return graph.tensors[a].bytes > graph.tensors[b].bytes;
    });
    Bytes alignment = kPlacementAlign;
    for (const std::size_t i : shared) alignment = std::max(alignment, graph.tensors[i].alignment);
    packer.align_alone(alignment);
    for (const std::size_t i : shared)
      layout.placements[i].offset = packer.alone() + packer.place(i);
    // A backend may place an arena against its end.
    layout.bytes(arena) = rounded_up(packer.peak(), alignment);
  }
  return layout;
}

std::optional<std::string> find_layout_fault(const StepGraph& graph, const Layout& layout) {
  const HappensBefore happens_before(graph.graph);
  const Ranges ranges = live_ranges(graph);
  if (layout.placements.size() != graph.tensors.size()) return "a tensor is not placed";
  for (const StepTask& task : graph.tasks) {
    for (const Access& access : task.accesses) {
      const StepTensor& tensor = graph.tensors[static_cast<std::size_t>(access.tensor)];
      if (access.offset < Bytes(0) || access.offset + access.bytes > tensor.bytes) {
        return tensor.name + ": accessed outside its bytes";
      }
    }
  }
  std::vector<std::size_t> order(graph.tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return layout.placements[a].offset < layout.placements[b].offset;
  });
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Placement& placement = layout.placements[order[i]];
    const StepTensor& tensor = graph.tensors[order[i]];
    if (static_cast<std::size_t>(placement.tensor) != order[i])
      return tensor.name + ": placed as another tensor";
    const Bytes end = placement.offset + tensor.bytes;
    if (placement.offset < Bytes(0) || end > layout.bytes(tensor.arena))
      return tensor.name + ": outside its arena";
    if (placement.offset.count() % std::max(kPlacementAlign, tensor.alignment).count() != 0)
      return tensor.name + ": not aligned";
    if (auto fault = find_range_fault(graph, placement, ranges[order[i]])) return fault;
    for (std::size_t j = i + 1; j < order.size() && layout.placements[order[j]].offset < end; ++j) {
      const StepTensor& other = graph.tensors[order[j]];
      if (other.arena != tensor.arena) continue;
      const bool may_share = !tensor.persistent && !other.persistent &&
                             never_overlap(ranges[order[i]], ranges[order[j]], happens_before);
      if (!may_share)
        return tensor.name + " and " + other.name + " share bytes while both are in use";
    }
  }
  return std::nullopt;
}

}  // namespace sluice::planner
