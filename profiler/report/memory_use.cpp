#include "profiler/report/memory_use.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "planner/layout/live_range.hpp"
#include "sim/error.hpp"

namespace sluice::profiler {
namespace {

struct Change {
  Instant at;
  std::size_t part;
  std::int64_t bytes;
};

/// Time of a live range's tasks, from first start to last end.
std::optional<Recorder::Span> span_of(const planner::LiveRange& range,
                                      const std::vector<Recorder::Span>& spans) {
  std::optional<Recorder::Span> whole;
  for (const auto& ends : range.lanes) {
    if (!ends) continue;
    const Instant start = spans[sim::index(ends->first)].start;
    const Instant end = spans[sim::index(ends->last)].end;
    if (!whole) whole = Recorder::Span{start, end};
    whole->start = std::min(whole->start, start);
    whole->end = std::max(whole->end, end);
  }
  return whole;
}

std::int64_t total(const MemoryUse& use, std::size_t instant) {
  std::int64_t sum = 0;
  for (const auto& part : use.bytes) sum += part[instant];
  return sum;
}

/// Sorts parts: those that never change first, then larger ones first.
void sort_parts(MemoryUse& use) {
  std::vector<std::size_t> order(use.parts.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto key = [&use](std::size_t part) {
    const auto [low, high] = std::minmax_element(use.bytes[part].begin(), use.bytes[part].end());
    return std::pair(*low != *high, -*high);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  MemoryUse sorted{.parts = {}, .at = use.at, .bytes = {}};
  for (const std::size_t part : order) {
    if (*std::max_element(use.bytes[part].begin(), use.bytes[part].end()) == 0) continue;
    sorted.parts.push_back(use.parts[part]);
    sorted.bytes.push_back(use.bytes[part]);
  }
  use = std::move(sorted);
}

}  // namespace

MemoryUse memory_use(const planner::StepGraph& graph, const std::vector<Recorder::Span>& spans,
                     planner::Arena arena) {
  check(graph.graph.period() && spans.size() == graph.tasks.size(), "spans of the graph");
  const Instant begin = spans[sim::index(graph.graph.period()->first)].end;
  const Instant end = spans[sim::index(graph.graph.period()->last)].end;
  const auto ranges = planner::live_ranges(graph);
  std::map<std::string, std::size_t> positions;
  MemoryUse use;
  std::vector<std::int64_t> now;
  std::vector<Change> changes;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const planner::StepTensor& tensor = graph.tensors[i];
    if (tensor.arena != arena || tensor.bytes.count() == 0) continue;
    const auto [found, added] = positions.emplace(tensor.part, use.parts.size());
    if (added) {
      use.parts.push_back(tensor.part);
      now.push_back(0);
    }
    const std::size_t part = found->second;
    if (tensor.persistent) {
      now[part] += tensor.bytes.count();
      continue;
    }
    for (const planner::LiveRange& range : ranges[i]) {
      const auto live = span_of(range, spans);
      if (!live || live->end <= begin || live->start >= end) continue;
      changes.push_back({std::max(live->start, begin), part, tensor.bytes.count()});
      if (live->end < end) changes.push_back({live->end, part, -tensor.bytes.count()});
    }
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change& a, const Change& b) { return a.at < b.at; });
  use.bytes.resize(use.parts.size());
  const auto keep = [&](Duration at) {
    use.at.push_back(at);
    for (std::size_t part = 0; part < now.size(); ++part) use.bytes[part].push_back(now[part]);
  };
  std::size_t next = 0;
  for (Instant at = begin;;) {
    while (next < changes.size() && changes[next].at <= at) {
      now[changes[next].part] += changes[next].bytes;
      ++next;
    }
    keep(at - begin);
    if (next == changes.size()) break;
    at = changes[next].at;
  }
  sort_parts(use);
  return use;
}

MemoryUse thinned(const MemoryUse& use, std::size_t most) {
  if (use.at.size() <= most) return use;
  MemoryUse thin{.parts = use.parts, .at = {}, .bytes = {}};
  thin.bytes.resize(use.bytes.size());
  const double stretch = static_cast<double>(use.at.back().count() + 1) / static_cast<double>(most);
  for (std::size_t from = 0; from < use.at.size();) {
    const auto number =
        static_cast<std::int64_t>(static_cast<double>(use.at[from].count()) / stretch);
    std::size_t fullest = from;
    std::size_t to = from;
    while (to < use.at.size() &&
           static_cast<std::int64_t>(static_cast<double>(use.at[to].count()) / stretch) == number) {
      if (total(use, to) > total(use, fullest)) fullest = to;
      ++to;
    }
    thin.at.push_back(use.at[from]);
    for (std::size_t part = 0; part < use.bytes.size(); ++part) {
      thin.bytes[part].push_back(use.bytes[part][fullest]);
    }
    from = to;
  }
  return thin;
}

}  // namespace sluice::profiler
