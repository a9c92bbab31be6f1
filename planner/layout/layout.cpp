#include "planner/layout/layout.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "planner/layout/live_range.hpp"
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

/// Answers which tensors are ever in use at the same time.
class Conflicts {
 public:
  explicit Conflicts(const StepGraph& graph)
      : happens_before_(graph.graph), ranges_(live_ranges(graph)) {
    for (const auto& range : ranges_) {
      check(!range[1].empty(), "every tensor of a step graph is touched in every step");
      spans_.push_back({range[1].first(), range[1].last()});
    }
  }

  bool operator()(std::size_t a, std::size_t b) const {
    // Edges point forward, so what is over before another begins also comes before it in the graph.
    if (spans_[a].last < spans_[b].first)
      return !alternate(ranges_[a], ranges_[b], happens_before_);
    if (spans_[b].last < spans_[a].first)
      return !alternate(ranges_[b], ranges_[a], happens_before_);
    return true;
  }

  /// First and last access of the tensor in step 2.
  [[nodiscard]] const LiveRange::Ends& span(std::size_t tensor) const { return spans_[tensor]; }

 private:
  HappensBefore happens_before_;
  Ranges ranges_;
  std::vector<LiveRange::Ends> spans_;
};

/// First-fit packing: a tensor gets the lowest gap among the tensors that are ever in use with it.
class ArenaPacker {
 public:
  ArenaPacker(const StepGraph& graph, const Conflicts& conflicts)
      : graph_(&graph), conflicts_(&conflicts) {}

  Bytes place(std::size_t tensor) {
    const Bytes size = aligned(graph_->tensors[tensor].bytes);
    const Bytes alignment = graph_->tensors[tensor].alignment;
    Bytes offset{0};
    for (const Placed& other : placed_) {
      if (offset + size <= other.begin) break;
      if (other.end <= offset || !(*conflicts_)(tensor, other.tensor)) continue;
      offset = rounded_up(other.end, alignment);
    }
    const Placed placed{tensor, offset, offset + size};
    placed_.insert(std::upper_bound(placed_.begin(), placed_.end(), placed), placed);
    peak_ = std::max(peak_, placed.end);
    return offset;
  }

  /// Places a tensor in bytes of its own, which no other tensor shares.
  Bytes place_alone(std::size_t tensor) {
    const Bytes offset = rounded_up(alone_end_, graph_->tensors[tensor].alignment);
    alone_end_ = offset + aligned(graph_->tensors[tensor].bytes);
    return offset;
  }

  /// Makes the next address from which a tensor is placed alone a multiple of `alignment`.
  void align_alone(Bytes alignment) { alone_end_ = rounded_up(alone_end_, alignment); }

  [[nodiscard]] Bytes alone() const { return alone_end_; }
  [[nodiscard]] Bytes peak() const { return alone_end_ + peak_; }

 private:
  const StepGraph* graph_;
  const Conflicts* conflicts_;
  std::vector<Placed> placed_;  ///< Tensors that were placed already, sorted by begin, then end.
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

/// Orders in which tensors that may share bytes are placed.
enum class PackingOrder : std::uint8_t {
  by_size,           ///< Largest first; of equal sizes the first in the graph first.
  by_size_reversed,  ///< Largest first; of equal sizes the last in the graph first.
  /// Records first, in their order in the graph, since they come and go like a stack; then by size.
  records_first,
  records_last,  ///< Other tensors by size, then records in their order in the graph.
};
constexpr std::array kPackingOrders{PackingOrder::by_size, PackingOrder::by_size_reversed,
                                    PackingOrder::records_first, PackingOrder::records_last};

void put_in_order(std::vector<std::size_t>& tensors, const StepGraph& graph, PackingOrder order) {
  const auto key = [&](std::size_t i) {
    const StepTensor& tensor = graph.tensors[i];
    const auto place = static_cast<std::int64_t>(i), size = tensor.bytes.count();
    const bool record = tensor.part == "activations";
    switch (order) {
      case PackingOrder::by_size_reversed:
        return std::tuple(0, -size, -place);
      case PackingOrder::records_first:
        return std::tuple(record ? 0 : 1, record ? 0 : -size, place);
      case PackingOrder::records_last:
        return std::tuple(record ? 1 : 0, record ? 0 : -size, place);
      default:
        return std::tuple(0, -size, place);
    }
  };
  std::ranges::sort(tensors, {}, key);
}

/// The most bytes in use before and after any task of step 2, in the order of the graph's tasks: no
/// packing order can be expected to need fewer.
Bytes most_in_use(const std::vector<std::size_t>& tensors, const StepGraph& graph,
                  const Conflicts& conflicts) {
  std::map<std::uint32_t, Bytes> changes;
  for (const std::size_t i : tensors) {
    const auto task = [](sim::TaskId id) { return static_cast<std::uint32_t>(id); };
    changes[task(conflicts.span(i).first)] += aligned(graph.tensors[i].bytes);
    changes[task(conflicts.span(i).last) + 1] -= aligned(graph.tensors[i].bytes);
  }
  Bytes now{0}, most{0};
  for (const auto& [task, change] : changes) most = std::max(most, now += change);
  return most;
}

}  // namespace

Layout lay_out(const StepGraph& graph) {
  const Conflicts conflicts(graph);
  Layout layout;
  layout.placements.resize(graph.tensors.size());
  for (const Arena arena : {Arena::device, Arena::host, Arena::disk, Arena::shared}) {
    ArenaPacker alone(graph, conflicts);
    std::vector<std::size_t> shared;
    Bytes alignment = kPlacementAlign;
    for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
      const StepTensor& tensor = graph.tensors[i];
      if (tensor.arena != arena) continue;
      layout.placements[i] = {TensorIndex(static_cast<std::uint32_t>(i)), Bytes(0),
                              conflicts.span(i).first, conflicts.span(i).last};
      if (tensor.persistent) {
        layout.placements[i].offset = alone.place_alone(i);
      } else {
        shared.push_back(i);
        alignment = std::max(alignment, tensor.alignment);
      }
    }
    alone.align_alone(alignment);
    const Bytes enough = alone.alone() + most_in_use(shared, graph, conflicts);
    std::optional<Bytes> least;
    for (const PackingOrder order : kPackingOrders) {
      if (least && *least <= enough) break;
      ArenaPacker packer = alone;
      put_in_order(shared, graph, order);
      std::vector<Bytes> offsets(shared.size());
      std::ranges::transform(shared, offsets.begin(),
                             [&packer](std::size_t i) { return packer.alone() + packer.place(i); });
      if (least && packer.peak() >= *least) continue;
      least = packer.peak();
      for (std::size_t n = 0; n < shared.size(); ++n) {
        layout.placements[shared[n]].offset = offsets[n];
      }
    }
    // A backend may place an arena against its end.
    layout.bytes(arena) = rounded_up(*least, alignment);
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
      const std::int64_t ranges = ranges_of(access, graph.ranks, graph.hosts);
      const Bytes last = access.offset + access.rank_stride * (ranges - 1);
      if (access.offset < Bytes(0) || last + access.bytes > tensor.bytes) {
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
