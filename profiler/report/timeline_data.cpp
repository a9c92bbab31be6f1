#include "profiler/report/timeline_data.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "profiler/traces/comparison.hpp"

namespace sluice::profiler {
namespace {

using sim::Json;

/// Texts that are written once and referred to by position.
class Names {
 public:
  std::size_t position(const std::string& name) {
    const auto [found, added] = positions_.emplace(name, names_.size());
    if (added) names_.push_back(name);
    return found->second;
  }
  [[nodiscard]] const std::vector<std::string>& all() const { return names_; }

 private:
  std::unordered_map<std::string, std::size_t> positions_;
  std::vector<std::string> names_;
};

/// The part of a trace that is drawn.
struct Window {
  Instant zero{};
  Duration period{0};
  [[nodiscard]] bool holds(const sim::TraceSpan& span) const {
    if (span.end == span.start) return false;
    if (period.count() == 0) return true;
    return span.end > zero - period / 3 && span.start < zero + period + period / 6;
  }
};

Window window_of(const sim::Trace& trace) {
  Window window;
  std::optional<Instant> end;
  for (const sim::TraceSpan& span : trace.spans) {
    if (span.id == "s2/grads") window.zero = span.end;
    if (span.id == "s3/grads") end = span.end;
  }
  if (end && *end > window.zero) window.period = *end - window.zero;
  return window;
}

/// A task, or several tasks of one lane that follow each other.
struct Block {
  const sim::TraceSpan* first;  ///< The task that names the block.
  Instant start, end;
  Duration busy{0};
  std::int64_t tasks = 0;
  std::int64_t bytes = 0;
  bool critical = false;
  std::map<std::string, Duration> kinds;

  void add(const sim::TraceSpan& span, bool is_critical) {
    start = tasks == 0 ? span.start : std::min(start, span.start);
    end = tasks == 0 ? span.end : std::max(end, span.end);
    busy += span.end - span.start;
    bytes += span.bytes.count();
    critical = critical || is_critical;
    kinds[span.kind] += span.end - span.start;
    ++tasks;
  }
  [[nodiscard]] const std::string& kind() const {
    return std::max_element(kinds.begin(), kinds.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  }
};

/// Blocks by lane, then by start.
std::vector<Block> blocks_of(const TracedStep& step, const Window& window, bool sum_up) {
  std::vector<const sim::TraceSpan*> spans;
  for (const sim::TraceSpan& span : step.trace.spans) {
    if (window.holds(span)) spans.push_back(&span);
  }
  std::stable_sort(spans.begin(), spans.end(), [](const auto* a, const auto* b) {
    return std::tie(a->lane, a->start) < std::tie(b->lane, b->start);
  });
  std::vector<Block> blocks;
  const Duration longest = sum_up ? window.period / kBlocksOfStep : Duration(0);
  for (const sim::TraceSpan* span : spans) {
    const bool joins = sum_up && !blocks.empty() && blocks.back().first->lane == span->lane &&
                       span->end - blocks.back().start <= longest;
    if (!joins) blocks.push_back(Block{.first = span, .start = {}, .end = {}, .kinds = {}});
    blocks.back().add(*span, step.critical.contains(span->id));
  }
  return blocks;
}

struct Tables {
  Names lanes, kinds, ids, limits;
};

Json track_json(const StepView& view, const TracedStep& step, const char* name, bool sum_up,
                Tables& tables) {
  const Window window = window_of(step.trace);
  Json track = {{"name", name},
                {"period_s", to_seconds(window.period).count()},
                {"tasks", 0},
                {"lane", Json::array()},
                {"kind", Json::array()},
                {"id", Json::array()},
                {"start_ns", Json::array()},
                {"end_ns", Json::array()},
                {"bytes", Json::array()},
                {"critical", Json::array()},
                {"alone_ns", Json::array()},
                {"limit", Json::array()}};
  if (sum_up) track["count"] = track["busy_ns"] = Json::array();
  std::int64_t tasks = 0;
  for (const Block& block : blocks_of(step, window, sum_up)) {
    tasks += block.tasks;
    track["lane"].push_back(tables.lanes.position(block.first->lane));
    track["kind"].push_back(tables.kinds.position(block.kind()));
    track["id"].push_back(tables.ids.position(block.first->id));
    track["start_ns"].push_back((block.start - window.zero).count());
    track["end_ns"].push_back((block.end - window.zero).count());
    track["bytes"].push_back(block.bytes);
    track["critical"].push_back(block.critical ? 1 : 0);
    const auto limit = view.limits.find(block.first->id);
    const bool known = limit != view.limits.end() && block.tasks == 1;
    track["alone_ns"].push_back(known ? Json(std::llround(1e9 * limit->second.alone.count()))
                                      : Json());
    track["limit"].push_back(known ? Json(tables.limits.position(limit->second.by)) : Json());
    if (sum_up) {
      track["count"].push_back(block.tasks);
      track["busy_ns"].push_back(block.busy.count());
    }
  }
  track["tasks"] = tasks;
  return track;
}

}  // namespace

bool is_summed_up(const sim::Trace& trace) {
  const Window window = window_of(trace);
  const auto shown = std::count_if(trace.spans.begin(), trace.spans.end(),
                                   [&](const auto& span) { return window.holds(span); });
  return static_cast<std::size_t>(shown) > kMostTasks;
}

Json timeline_json(const StepView& view) {
  const bool sum_up = is_summed_up(view);
  Tables tables;
  // In the order of a step's graph, whatever lane a trace begins with.
  for (const char* lane : {"compute", "h2d", "d2h", "cpu", "disk-read", "disk-write", "launch"}) {
    const auto on_lane = [&](const sim::Trace& trace) {
      return std::any_of(trace.spans.begin(), trace.spans.end(),
                         [&](const sim::TraceSpan& span) { return span.lane == lane; });
    };
    if (on_lane(view.predicted.trace) || on_lane(view.measured.trace)) tables.lanes.position(lane);
  }
  Json tracks = Json::array();
  if (!view.predicted.trace.spans.empty()) {
    tracks.push_back(track_json(view, view.predicted, "predicted", sum_up, tables));
  }
  if (!view.measured.trace.spans.empty()) {
    tracks.push_back(track_json(view, view.measured, "measured", sum_up, tables));
  }
  return {{"rows", std::move(tracks)},     {"lanes", tables.lanes.all()},
          {"kinds", tables.kinds.all()},   {"ids", tables.ids.all()},
          {"limits", tables.limits.all()}, {"observed", view.observed},
          {"summed_up", sum_up},           {"every_task", view.every_task}};
}

}  // namespace sluice::profiler
