#include "profiler/study/recording.hpp"

#include <nlohmann/json.hpp>

#include "planner/catalogue/store.hpp"
#include "planner/files/whole_file.hpp"
#include "planner/plans/plan_file.hpp"
#include "sim/error.hpp"

namespace sluice::profiler {
namespace {

using nlohmann::ordered_json;
using Spans = std::vector<Recorder::Span>;

constexpr const char* kMeasuredSchema = "sluice/measured/1";

std::filesystem::path record_of(const std::filesystem::path& folder, const std::string& name) {
  return folder / (name + ".json");
}

/// Each task's start, relative to that of the task before it, and duration: small numbers, which
/// compress well. `last` is the start of the task before.
ordered_json to_json(const Spans& spans, Instant& last) {
  ordered_json numbers = ordered_json::array();
  for (const Recorder::Span& span : spans) {
    numbers.push_back((span.start - last).count());
    numbers.push_back((span.end - span.start).count());
    last = span.start;
  }
  return numbers;
}

Spans to_spans(const ordered_json& numbers, Instant& last) {
  Spans spans;
  for (std::size_t i = 0; i + 1 < numbers.size(); i += 2) {
    last += Duration(numbers.at(i).get<std::int64_t>());
    spans.push_back({last, last + Duration(numbers.at(i + 1).get<std::int64_t>())});
  }
  return spans;
}

}  // namespace

void write_recording(const std::filesystem::path& folder, const std::string& name,
                     const std::string& job_hash, const std::string& profile_hash,
                     const std::vector<MeasuredRun>& bursts) {
  check(!bursts.empty(), "a run has a burst");
  planner::PlanFile plan;
  plan.job_hash = job_hash;
  plan.profile_hash = profile_hash;
  plan.plan = bursts.front().plan;
  const bool on_device = bursts.front().device_times == sim::SpanSource::event;
  ordered_json json = {{"schema", kMeasuredSchema},
                       {"device_times", on_device ? "event" : "clock"},
                       {"plan", ordered_json::parse(to_json_text(plan))}};
  for (const MeasuredRun& burst : bursts) {
    Instant last{};
    ordered_json steps = ordered_json::array();
    for (const Spans& spans : burst.steps) steps.push_back(to_json(spans, last));
    json["bursts"].push_back(std::move(steps));
  }
  planner::write_whole_file(record_of(folder, name), json.dump() + "\n");
}

bool has_recording(const std::filesystem::path& folder, const std::string& name) {
  return std::filesystem::exists(record_of(folder, name));
}

std::vector<MeasuredRun> read_recording(const std::filesystem::path& folder,
                                        const std::string& name, const std::string& job_hash) {
  const std::filesystem::path path = record_of(folder, name);
  const std::string text = planner::read_whole_file(path);
  try {
    const auto json = ordered_json::parse(text);
    if (json.at("schema") != kMeasuredSchema) {
      throw BadRequest(path.string() + ": schema: not " + kMeasuredSchema);
    }
    const auto plan = planner::plan_file_from_json(json.at("plan").dump(), path.string());
    if (plan.job_hash != job_hash) {
      throw BadRequest(path.string() + ": plan: measured for another job than " + name +
                       " is now; replay it with the runs it was recorded from");
    }
    std::vector<MeasuredRun> bursts;
    for (const auto& steps : json.at("bursts")) {
      MeasuredRun& burst = bursts.emplace_back();
      burst.plan = plan.plan;
      burst.device_times =
          json.at("device_times") == "event" ? sim::SpanSource::event : sim::SpanSource::clock;
      Instant last{};
      for (const auto& numbers : steps) burst.steps.push_back(to_spans(numbers, last));
    }
    return bursts;
  } catch (const nlohmann::json::exception& error) {
    throw BadRequest(path.string() + ": not a recording of a measured run: " + error.what());
  }
}

}  // namespace sluice::profiler
