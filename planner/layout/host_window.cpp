#include "planner/layout/host_window.hpp"

#include <map>
#include <optional>

#include "planner/layout/host_traffic.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

/// Ring of bytes that the tasks of one lane use one after another.
class WindowRing {
 public:
  explicit WindowRing(std::int64_t size) : size_(size) {}
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

/// The largest share of the traffic, in multiples of 2^-20, whose window has at most `most` bytes.
double largest_share(const HostTraffic& traffic, Bytes most) {
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

Bytes HostWindow::least(const StepGraph& graph) { return HostTraffic(graph).bytes(0); }

HostWindow::HostWindow(const StepGraph& graph, Bytes most) {
  const HostTraffic traffic(graph);
  check(traffic.bytes(0) <= most, "a window holds what is in flight");
  gradient_ = traffic.gradient_element() == 2 ? GradientWire::bf16 : GradientWire::fp32;
  record_bytes_ = traffic.record_bytes();
  const double share = largest_share(traffic, most);
  place_parts(traffic, share);
  offsets_.resize(graph.tasks_per_step);
  place_accesses(traffic, traffic.elements(share));
  find_stored_gradients(graph);
}

void HostWindow::place_parts(const HostTraffic& traffic, double share) {
  for (std::size_t i = 0; i < kWindowUses; ++i) {
    const auto use = static_cast<WindowUse>(i);
    Bytes size = traffic.shared_bytes();
    if (use >= WindowUse::high) {
      size = Bytes(traffic.elements(share) * bytes_of_element(use, traffic.gradient_element()));
    } else if (use != WindowUse::shared) {
      size = traffic.copies(use, share);
    }
    parts_.push_back({use, bytes_, size});
    bytes_ += size;
  }
  bytes_ = traffic.whole(bytes_);
}

void HostWindow::place_accesses(const HostTraffic& traffic, std::int64_t elements) {
  std::map<WindowUse, WindowRing> rings;
  for (const WindowUse use : kWindowCopies) rings.emplace(use, part(use).bytes.count());
  std::map<TensorIndex, std::int64_t> records;  // Start of the record that is being loaded.
  WindowRing element_ring(elements);
  for (std::size_t i = 0; i < offsets_.size(); ++i) {
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
          records[access.tensor] = rings.at(*use).take(record_bytes_.count());
        }
        offsets_[i][j] = part(*use).offset + Bytes(records.at(access.tensor)) + access.offset;
      } else if (*use < WindowUse::high) {
        const std::int64_t size = HostTraffic::size_of(access).count();
        offsets_[i][j] = part(*use).offset + Bytes(rings.at(*use).take(size));
      } else {
        // `high` is the first of an update's operands.
        if (*use == WindowUse::high) {
          first_element = element_ring.take(HostTraffic::elements_of(access));
        }
        const std::int64_t element = bytes_of_element(*use, traffic.gradient_element());
        offsets_[i][j] = part(*use).offset + Bytes(first_element * element);
      }
    }
  }
}

void HostWindow::find_stored_gradients(const StepGraph& graph) {
  const std::size_t n = graph.tasks_per_step;
  int last_round = 0;
  for (std::size_t i = 0; i < n; ++i) last_round = std::max(last_round, graph.tasks[n + i].round);
  // Lane order is the order of tasks, so that the last task of those that share bytes comes last.
  std::map<Bytes, Bytes> covered;  // End of each covered range, by its begin.
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
