#include "planner/layout/host_traffic.hpp"

#include "planner/layout/layout.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

/// Elements of an update's operands are multiples of this, which keeps every operand aligned.
constexpr std::int64_t kOperandElements = kPlacementAlign.count() / 2;

std::int64_t up_to(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

Bytes aligned_up(Bytes bytes) { return Bytes(up_to(bytes.count(), kPlacementAlign.count())); }

bool is_record(const StepTensor& tensor) { return tensor.name.starts_with("record.host/"); }

/// For each tensor of the graph, whether compute or launch tasks touch it.
std::vector<bool> shared_tensors(const StepGraph& graph) {
  std::vector<bool> shared(graph.tensors.size());
  for (const StepTask& task : graph.tasks) {
    if (task.lane != LaneKind::compute && task.lane != LaneKind::launch) continue;
    for (const Access& access : task.accesses) {
      shared[static_cast<std::size_t>(access.tensor)] = true;
    }
  }
  return shared;
}

}  // namespace

HostTraffic::HostTraffic(const StepGraph& graph) : graph_(graph), shared_(shared_tensors(graph)) {
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    if (graph.tensors[i].arena != Arena::host) continue;
    if (is_record(graph.tensors[i])) {
      record_bytes_ = std::max(record_bytes_, aligned_up(graph.tensors[i].bytes));
    }
    if (!shared_[i]) continue;
    homes_[i] = shared_bytes_;
    shared_bytes_ += aligned_up(graph.tensors[i].bytes);
  }
  for (std::size_t i = 0; i < graph.tasks_per_step; ++i) count(task(i));
}

std::optional<WindowUse> HostTraffic::use_of(const StepTask& task, const Access& access) const {
  const auto tensor = static_cast<std::size_t>(access.tensor);
  if (shared_[tensor]) return std::nullopt;
  switch (access.role) {
    case Role::source:
      if (task.lane == LaneKind::disk_write) return WindowUse::to_disk;
      if (is_record(graph_.tensors[tensor])) return WindowUse::loaded_record;
      return graph_.tensors[tensor].name.starts_with("moment2/") ? WindowUse::loaded_moment2
                                                                 : WindowUse::loaded;
    case Role::destination:
      return task.lane == LaneKind::disk_read ? WindowUse::from_disk : WindowUse::stored;
    case Role::weights:
      return WindowUse::high;
    case Role::low:
      return WindowUse::low;
    case Role::moment1:
      return WindowUse::moment1;
    case Role::moment2:
      return WindowUse::moment2;
    case Role::gradient:
      return WindowUse::gradient;
    default:
      break;
  }
  check(task.kind == TaskKind::update, "only copies and updates touch host memory by themselves");
  return std::nullopt;
}

Bytes HostTraffic::copies(WindowUse use, double share) const {
  const bool record = use == WindowUse::loaded_record && record_bytes_ > Bytes(0);
  const bool disk = use == WindowUse::from_disk || use == WindowUse::to_disk;
  const Bytes unit = record ? record_bytes_ : disk ? kDiskAlign : kPlacementAlign;
  return Bytes(copies_[static_cast<std::size_t>(use)].size(share, unit.count()));
}

std::int64_t HostTraffic::elements(double share) const {
  return elements_.size(share, kOperandElements);
}

Bytes HostTraffic::size_of(const Access& access) { return aligned_up(access.bytes); }

std::int64_t HostTraffic::elements_of(const Access& high) {
  return up_to(high.bytes.count() / 2, kOperandElements);
}

Bytes HostTraffic::bytes(double share) const {
  Bytes sum = shared_bytes_ + Bytes(elements(share) * element_bytes());
  for (const WindowUse use : kWindowCopies) sum += copies(use, share);
  return whole(sum);
}

Bytes HostTraffic::whole(Bytes bytes) const {
  if (copies(WindowUse::to_disk, 0) == Bytes(0)) return bytes;
  return Bytes(up_to(bytes.count(), kDiskAlign.count()));
}

void HostTraffic::count(const StepTask& task) {
  for (const Access& access : task.accesses) {
    if (!on_host(access)) continue;
    const std::optional<WindowUse> use = use_of(task, access);
    if (!use) continue;
    if (*use == WindowUse::loaded_record) {
      if (access.offset > Bytes(0)) continue;  // A later piece of the same record.
      copies_[static_cast<std::size_t>(*use)].add(record_bytes_.count());
    } else if (*use < WindowUse::high) {
      copies_[static_cast<std::size_t>(*use)].add(size_of(access).count());
    } else if (*use == WindowUse::high) {
      check(task.lane == LaneKind::cpu, "the CPU's lane updates what lies on the host");
      elements_.add(elements_of(access));
    } else if (*use == WindowUse::gradient) {
      const Access& high = task.accesses.front();
      gradient_element_ = 2 * access.bytes.count() / high.bytes.count();
    }
  }
}

}  // namespace sluice::planner
