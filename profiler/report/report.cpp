#include "profiler/report/report.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "profiler/report/page_text.hpp"

namespace sluice::profiler {
namespace {

using Json = nlohmann::ordered_json;

/// Small numbers of names: lanes and kinds are written once and referred to by position.
class Names {
 public:
  std::size_t position(const std::string& name) {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found != names_.end()) return static_cast<std::size_t>(found - names_.begin());
    names_.push_back(name);
    return names_.size() - 1;
  }
  [[nodiscard]] const std::vector<std::string>& all() const { return names_; }

 private:
  std::vector<std::string> names_;
};

/// Instant that both traces are aligned at: the end of the second step's gradients.
std::optional<Instant> origin(const sim::Trace& trace) {
  for (const sim::TraceSpan& span : trace.spans) {
    if (span.id == "s2/grads") return span.end;
  }
  return std::nullopt;
}

/// Spans as [lane, kind, start, end, id, bytes, critical] in seconds from the origin.
Json spans_json(const sim::Trace& trace, const std::set<std::string>& critical, Names& lanes,
                Names& kinds) {
  Json spans = Json::array();
  const Instant zero = origin(trace).value_or(Instant{});
  for (const sim::TraceSpan& span : trace.spans) {
    if (span.end == span.start) continue;
    spans.push_back({lanes.position(span.lane), kinds.position(span.kind),
                     to_seconds(span.start - zero).count(), to_seconds(span.end - zero).count(),
                     span.id, span.bytes.count(), critical.contains(span.id) ? 1 : 0});
  }
  return spans;
}

Json timeline_json(const ReportData& report) {
  Names lanes;
  Names kinds;
  for (const char* lane : {"compute", "h2d", "d2h", "cpu", "launch"}) {
    const auto on_lane = [&](const sim::Trace& trace) {
      return std::any_of(trace.spans.begin(), trace.spans.end(),
                         [&](const sim::TraceSpan& span) { return span.lane == lane; });
    };
    if (on_lane(report.predicted_trace) || on_lane(report.measured_trace)) lanes.position(lane);
  }
  Json line;
  const std::set<std::string> critical(report.critical.begin(), report.critical.end());
  line["predicted"] = spans_json(report.predicted_trace, critical, lanes, kinds);
  line["measured"] = spans_json(report.measured_trace, critical, lanes, kinds);
  line["lanes"] = lanes.all();
  line["kinds"] = kinds.all();
  line["period_s"] = std::max({step_period(report.predicted_trace).count(),
                               step_period(report.measured_trace).count(), 1e-9});
  return line;
}

Json rows_json(const std::vector<ComparisonRow>& rows) {
  Json list = Json::array();
  for (const ComparisonRow& row : rows) {
    if (row.a.count() <= 0 && row.b.count() <= 0) continue;
    list.push_back(
        {{"name", row.name}, {"count", row.count}, {"a_s", row.a.count()}, {"b_s", row.b.count()}});
  }
  return list;
}

Json values_json(const std::vector<StepValue>& values) {
  Json list = Json::array();
  for (const StepValue& value : values) list.push_back({value.step, value.value});
  return list;
}

Json memory_json(const std::vector<MemoryTier>& tiers) {
  Json list = Json::array();
  for (const MemoryTier& tier : tiers) {
    Json parts = Json::array();
    for (const auto& part : tier.parts) {
      parts.push_back({{"name", part.name}, {"bytes", part.bytes.count()}});
    }
    list.push_back({{"tier", tier.tier},
                    {"predicted_bytes", tier.predicted.count()},
                    {"capacity_bytes", tier.capacity.count()},
                    {"measured_bytes", tier.measured.value_or(Bytes(0)).count()},
                    {"parts", std::move(parts)}});
  }
  return list;
}

Json waterfalls_json(const std::vector<Waterfall>& waterfalls) {
  Json list = Json::array();
  for (const Waterfall& waterfall : waterfalls) {
    Json parts = Json::array();
    for (const TimePart& part : waterfall.parts) {
      parts.push_back({{"name", part.name}, {"seconds", part.time.count()}});
    }
    list.push_back({{"name", waterfall.name}, {"parts", std::move(parts)}});
  }
  return list;
}

Json page_json(const ReportData& report) {
  const Comparison comparison = compare(report.predicted_trace, report.measured_trace);
  Json page;
  page["title"] = report.title;
  page["subtitle"] = report.subtitle;
  page["headline"] = {{"predicted_s", report.predicted.count()},
                      {"low_s", report.predicted_low.count()},
                      {"high_s", report.predicted_high.count()},
                      {"measured_s", report.measured.count()},
                      {"steps", report.steps},
                      {"tokens_per_s", report.tokens_per_s},
                      {"bound_s", report.bound.count()},
                      {"bound_by", report.bound_by}};
  page["timeline"] = timeline_json(report);
  page["waterfall"] = waterfalls_json(report.waterfalls);
  page["memory"] = memory_json(report.memory);
  page["kinds"] = rows_json(comparison.kinds);
  page["lanes"] = rows_json(comparison.lanes);
  page["loss"] = {{"train", values_json(report.train_loss)},
                  {"validation", values_json(report.validation_loss)},
                  {"unigram", report.unigram_entropy.value_or(0)}};
  page["steps"] = values_json(report.step_times);
  page["environment"] = Json::array();
  for (const auto& [name, value] : report.environment) page["environment"].push_back({name, value});
  return page;
}

/// JSON inside a script element: "<" would let a text end the element.
std::string without_markup(const std::string& json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string fill(std::string page, const std::string& mark, const std::string& text) {
  return page.replace(page.find(mark), mark.size(), text);
}

}  // namespace

std::string report_html(const ReportData& report) {
  std::string script;
  for (const char* const* part = kScripts; *part != nullptr; ++part) script += *part;
  const std::string data =
      page_json(report).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  // The data last: it is the only part that may hold another part's mark.
  std::string page = fill(kPage, "{{style}}", kStyle);
  page = fill(std::move(page), "{{script}}", script);
  return fill(std::move(page), "{{data}}", without_markup(data));
}

}  // namespace sluice::profiler
