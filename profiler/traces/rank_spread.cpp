#include "profiler/traces/rank_spread.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::profiler {
namespace {

constexpr std::int64_t kSteps = 3;

using planner::LaneKind;

/// Instant at which the gradients of a step (from 0) are known.
Instant end_of_step(const planner::StepGraph& graph, const std::vector<Recorder::Span>& spans,
                    std::size_t step) {
  const std::size_t begin = step * graph.tasks_per_step;
  for (std::size_t i = begin; i < begin + graph.tasks_per_step; ++i) {
    if (graph.tasks[i].kind == planner::TaskKind::grads) return spans[i].end;
  }
  throw std::logic_error("contract broken: a step has gradients");
}

RankTimes times_of(const planner::StepGraph& graph, const std::vector<Recorder::Span>& spans) {
  RankTimes times;
  times.step =
      (end_of_step(graph, spans, kSteps - 1) - end_of_step(graph, spans, 0)) / (kSteps - 1);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const Duration busy = spans[i].end - spans[i].start;
    if (graph.tasks[i].lane == LaneKind::compute) times.compute += busy;
    if (graph.tasks[i].lane == LaneKind::fabric) times.collectives += busy;
  }
  times.compute /= kSteps;
  times.collectives /= kSteps;
  return times;
}

}  // namespace

RankSpread rank_spread(const planner::StepGraph& graph, std::span<const RecordedRank> ranks,
                       std::int64_t first) {
  RankSpread spread;
  for (const RecordedRank& each : ranks) {
    spread.ranks.push_back(times_of(graph, three_steps(*each.recorder, first)));
    spread.ranks.back().rank = std::ssize(spread.ranks) - 1;
  }
  std::vector<std::int64_t> times_last(ranks.size(), 0);
  std::int64_t collectives = 0;
  for (std::int64_t step = first; step < first + kSteps; ++step) {
    std::vector<std::vector<Recorder::Span>> spans;
    for (const RecordedRank& each : ranks) spans.push_back(each.recorder->spans(step));
    for (std::size_t i = 0; i < graph.tasks_per_step; ++i) {
      if (graph.tasks[i].lane != LaneKind::fabric) continue;
      ++collectives;
      std::vector<Instant> arrivals;
      for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        arrivals.push_back(spans[rank][i].start + ranks[rank].clock);
      }
      const Instant earliest = std::ranges::min(arrivals);
      ++times_last[static_cast<std::size_t>(std::ranges::max_element(arrivals) - arrivals.begin())];
      for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        spread.ranks[rank].late += arrivals[rank] - earliest;
      }
    }
  }
  for (RankTimes& each : spread.ranks) each.late /= std::max<std::int64_t>(1, collectives);
  spread.last = std::ranges::max_element(times_last) - times_last.begin();
  return spread;
}

std::vector<Duration> rank_starts(std::span<const RecordedRank> ranks, std::int64_t first) {
  std::vector<Instant> starts;
  for (const RecordedRank& each : ranks) {
    const std::vector<Recorder::Span> spans = each.recorder->spans(first);
    starts.push_back(std::ranges::min(spans, {}, &Recorder::Span::start).start + each.clock);
  }
  const Instant earliest = std::ranges::min(starts);
  std::vector<Duration> later;
  later.reserve(starts.size());
  for (const Instant start : starts) later.push_back(start - earliest);
  return later;
}

std::string spread_text(const RankSpread& spread) {
  std::vector<Duration> compute;
  for (const RankTimes& each : spread.ranks) compute.push_back(each.compute);
  std::ranges::sort(compute);
  const auto text = [](Duration time) { return planner::format_seconds(to_seconds(time)); };
  const std::size_t ranks = compute.size();
  const Duration median = (compute[(ranks - 1) / 2] + compute[ranks / 2]) / 2;
  return fmt::format("compute {} to {} (median {}) a step; rank {} is last, {} after the first",
                     text(compute.front()), text(compute.back()), text(median), spread.last,
                     text(spread.ranks[static_cast<std::size_t>(spread.last)].late));
}

}  // namespace sluice::profiler
