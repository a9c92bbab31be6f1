#include "planner/host_window.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "planner/layout.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

/// Elements of operands that rotate together: a whole number of placements of each.
constexpr std::int64_t kElements = kPlacementAlign.count() / 2;

std::int64_t up_to(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

Bytes aligned_up(Bytes bytes) { return Bytes(up_to(bytes.count(), kPlacementAlign.count())); }

/// What passes through one part in a step, and its largest task.
struct Passing {
  std::int64_t largest = 0, all = 0;
  void add(std::int64_t size) {
    largest = std::max(largest, size);
    all += size;
  }
  /// Of a part that holds `share` of what passes: at least the largest.
  [[nodiscard]] std::int64_t size(double share, std::int64_t unit) const {
    const auto wanted = static_cast<std::int64_t>(static_cast<double>(all) * share);
    return std::clamp(wanted / unit * unit, largest, all);
  }
};

constexpr std::array kCopies = {WindowUse::from_disk,     WindowUse::to_disk,
                                WindowUse::loaded,        WindowUse::loaded_moment2,
                                WindowUse::loaded_record, WindowUse::stored};

bool is_record(const StepTensor& tensor) { return tensor.name.starts_with("record.host/"); }

/// Tensors that compute or launch tasks touch.
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

/// One step's use of the host arena.
class Traffic {
 public:
  explicit Traffic(const StepGraph& graph) : graph_(graph), shared_(shared_tensors(graph)) {
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

  [[nodiscard]] const StepTask& task(std::size_t index) const {
    return graph_.tasks[graph_.tasks_per_step + index];
  }
  [[nodiscard]] bool on_host(const Access& access) const {
    return graph_.tensors[static_cast<std::size_t>(access.tensor)].arena == Arena::host;
  }
  /// None where the tensor keeps an address of its own.
  [[nodiscard]] std::optional<WindowUse> use_of(const StepTask& task, const Access& access) const {
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
  [[nodiscard]] Bytes home(const Access& access) const {
    return homes_.at(static_cast<std::size_t>(access.tensor)) + access.offset;
  }

  [[nodiscard]] Bytes shared_bytes() const { return shared_bytes_; }
  [[nodiscard]] Bytes record_bytes() const { return record_bytes_; }
  /// Bytes of a part of copies that holds `share` of what passes through it.
  [[nodiscard]] Bytes copies(WindowUse use, double share) const {
    const bool record = use == WindowUse::loaded_record && record_bytes_ > Bytes(0);
    const bool disk = use == WindowUse::from_disk || use == WindowUse::to_disk;
    const Bytes unit = record ? record_bytes_ : disk ? kDiskAlign : kPlacementAlign;
    return Bytes(copies_[static_cast<std::size_t>(use)].size(share, unit.count()));
  }
  /// Elements that pass the CPU's optimizer.
  [[nodiscard]] const Passing& elements() const { return elements_; }
  [[nodiscard]] std::int64_t gradient_element() const { return gradient_element_; }
  [[nodiscard]] std::int64_t element_bytes() const { return 2 + 2 + 4 + 4 + gradient_element_; }

  /// Of a window in which every part holds `share` of what passes through it in a step.
  [[nodiscard]] Bytes bytes(double share) const {
    Bytes sum = shared_bytes_ + Bytes(elements_.size(share, kElements) * element_bytes());
    for (const WindowUse use : kCopies) sum += copies(use, share);
    return whole(sum);
  }
  /// A backend may place an arena against its end, and the disk's part needs its alignment.
  [[nodiscard]] Bytes whole(Bytes bytes) const {
    if (copies(WindowUse::to_disk, 0) == Bytes(0)) return bytes;
    return Bytes(up_to(bytes.count(), kDiskAlign.count()));
  }

 private:
  void count(const StepTask& task) {
    for (const Access& access : task.accesses) {
      if (!on_host(access)) continue;
      const std::optional<WindowUse> use = use_of(task, access);
      if (!use) continue;
      if (*use == WindowUse::loaded_record) {
        if (access.offset > Bytes(0)) continue;  // A later piece of the same record.
        copies_[static_cast<std::size_t>(*use)].add(record_bytes_.count());
      } else if (*use < WindowUse::high) {
        copies_[static_cast<std::size_t>(*use)].add(aligned_up(access.bytes).count());
      } else if (*use == WindowUse::high) {
        check(task.lane == LaneKind::cpu, "the CPU's lane updates what lies on the host");
        elements_.add(up_to(access.bytes.count() / 2, kElements));
      } else if (*use == WindowUse::gradient) {
        const Access& high = task.accesses.front();
        gradient_element_ = 2 * access.bytes.count() / high.bytes.count();
      }
    }
  }

  const StepGraph& graph_;
  std::vector<bool> shared_;
  std::map<std::size_t, Bytes> homes_;
  Bytes shared_bytes_{0}, record_bytes_{0};
  std::array<Passing, kWindowUses> copies_;
  Passing elements_;
  std::int64_t gradient_element_ = 4;
};

/// Bytes that the tasks of one lane take turns in.
class Turns {
 public:
  explicit Turns(std::int64_t size) : size_(size) {}
  std::int64_t take(std::int64_t amount) {
    if (at_ + amount > size_) at_ = 0;
    const std::int64_t start = at_;
    at_ += amount;
    return start;
  }

 private:
  std::int64_t size_;
  std::int64_t at_ = 0;
};

std::int64_t bytes_of_element(WindowUse use, std::int64_t gradient) {
  if (use == WindowUse::high || use == WindowUse::low) return 2;
  return use == WindowUse::gradient ? gradient : 4;
}

/// The largest share of what passes whose window is no larger than `most`, in 2^-20.
double largest_share(const Traffic& traffic, Bytes most) {
  constexpr std::int64_t kWhole = std::int64_t{1} << 20;
  std::int64_t fits = 0, exceeds = kWhole + 1;
  while (exceeds - fits > 1) {
    const std::int64_t middle = (fits + exceeds) / 2;
    const double share = static_cast<double>(middle) / static_cast<double>(kWhole);
    (traffic.bytes(share) <= most ? fits : exceeds) = middle;
  }
  return static_cast<double>(fits) / static_cast<double>(kWhole);
}

}  // namespace

Bytes HostWindow::least(const StepGraph& graph) { return Traffic(graph).bytes(0); }

HostWindow::HostWindow(const StepGraph& graph, Bytes most) {
  const Traffic traffic(graph);
  check(traffic.bytes(0) <= most, "a window holds what is in flight");
  const double share = largest_share(traffic, most);
  const std::int64_t elements = traffic.elements().size(share, kElements);
  gradient_ = traffic.gradient_element() == 2 ? GradientWire::bf16 : GradientWire::fp32;
  for (std::size_t i = 0; i < kWindowUses; ++i) {
    const auto use = static_cast<WindowUse>(i);
    Bytes size = traffic.shared_bytes();
    if (use >= WindowUse::high) {
      size = Bytes(elements * bytes_of_element(use, traffic.gradient_element()));
    } else if (use != WindowUse::shared) {
      size = traffic.copies(use, share);
    }
    parts_.push_back({use, bytes_, size});
    bytes_ += size;
  }
  bytes_ = traffic.whole(bytes_);

  std::map<WindowUse, Turns> turns;
  for (const WindowUse use : kCopies) turns.emplace(use, part(use).bytes.count());
  record_bytes_ = traffic.record_bytes();
  std::map<TensorIndex, std::int64_t> records;  // Where the one being loaded begins.
  Turns element_turns(elements);
  offsets_.resize(graph.tasks_per_step);
  for (std::size_t i = 0; i < graph.tasks_per_step; ++i) {
    const StepTask& task = traffic.task(i);
    offsets_[i].resize(task.accesses.size());
    std::int64_t first_element = 0;
    for (std::size_t j = 0; j < task.accesses.size(); ++j) {
      const Access& access = task.accesses[j];
      if (!traffic.on_host(access)) continue;
      const std::optional<WindowUse> use = traffic.use_of(task, access);
      if (!use) {
        offsets_[i][j] = part(WindowUse::shared).offset + traffic.home(access);
      } else if (*use == WindowUse::loaded_record) {
        if (access.offset == Bytes(0)) {
          records[access.tensor] = turns.at(*use).take(record_bytes_.count());
        }
        offsets_[i][j] = part(*use).offset + Bytes(records.at(access.tensor)) + access.offset;
      } else if (*use < WindowUse::high) {
        const std::int64_t size = aligned_up(access.bytes).count();
        offsets_[i][j] = part(*use).offset + Bytes(turns.at(*use).take(size));
      } else {
        // `high` is the first of an update's operands.
        if (*use == WindowUse::high) {
          first_element = element_turns.take(up_to(access.bytes.count() / 2, kElements));
        }
        const std::int64_t element = bytes_of_element(*use, traffic.gradient_element());
        offsets_[i][j] = part(*use).offset + Bytes(first_element * element);
      }
    }
  }
  find_stored_gradients(graph);
}

void HostWindow::find_stored_gradients(const StepGraph& graph) {
  const std::size_t n = graph.tasks_per_step;
  int last_round = 0;
  for (std::size_t i = 0; i < n; ++i) last_round = std::max(last_round, graph.tasks[n + i].round);
  // Lane order is the order of tasks, so that the last task of those that share bytes comes last.
  std::map<Bytes, Bytes> covered;  // By begin: end.
  Bytes sum{0};
  const Bytes all = part(WindowUse::stored).bytes;
  for (std::size_t i = n; i-- > 0 && sum < all;) {
    const StepTask& task = graph.tasks[n + i];
    for (std::size_t j = 0; j < task.accesses.size(); ++j) {
      const Access& access = task.accesses[j];
      const auto tensor = static_cast<std::size_t>(access.tensor);
      if (task.lane != LaneKind::d2h || access.role != Role::destination) continue;
      if (graph.tensors[tensor].arena != Arena::host) continue;
      const Bytes begin = offset(i, j);
      const Bytes end = begin + access.bytes;
      const auto after = covered.lower_bound(begin);
      const bool free = (after == covered.end() || after->first >= end) &&
                        (after == covered.begin() || std::prev(after)->second <= begin);
      if (!free) continue;
      covered.emplace_hint(after, begin, end);
      sum += access.bytes;
      if (task.kind != TaskKind::store_gradient) continue;
      const bool wire = task.round == last_round && gradient_ == GradientWire::bf16;
      stored_gradients_.push_back(
          {begin, access.bytes, wire ? GradientWire::bf16 : GradientWire::fp32});
    }
  }
}

}  // namespace sluice::planner
