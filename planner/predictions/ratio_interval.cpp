#include "planner/predictions/ratio_interval.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace sluice::planner {
namespace {

using CauseOfGroup = std::pair<std::string, std::string>;

/// Sums of one group's relative errors.
struct GroupSums {
  double shared = 0, squares = 0;
  double only_a = 0, only_b = 0;
};

/// Whether `error` of a step on another machine is that of `other`.
bool same_rule(const StepError& error, const StepError& other) {
  return !error.origin.empty() && error.origin == other.origin;
}

}  // namespace

Seconds StepErrors::deviation() const {
  std::map<std::string, double> groups;
  for (const StepError& error : causes) groups[error.group] += error.deviation.count();
  double variance = 0;
  for (const auto& [group, sum] : groups) variance += sum * sum;
  return Seconds(std::sqrt(variance));
}

StepErrors step_errors(const std::vector<BasisLine>& lines, Seconds step,
                       const std::string& machine) {
  StepErrors errors{.step = step, .machine = machine, .causes = {}};
  std::map<CauseOfGroup, StepError> by_cause;
  for (const BasisLine& line : lines) {
    if (line.deviation.count() == 0) continue;
    StepError& error = by_cause[{line.group, line.cause}];
    error.cause = line.cause;
    error.group = line.group;
    error.origin = line.origin;
    error.deviation += line.deviation;
  }
  for (auto& [key, error] : by_cause) errors.causes.push_back(std::move(error));
  return errors;
}

RatioInterval ratio_interval(const StepErrors& a, const StepErrors& b) {
  RatioInterval result;
  if (!(b.step.count() > 0) || !(a.step.count() > 0)) return result;
  result.ratio = a.step / b.step;
  std::map<CauseOfGroup, const StepError*> of_b;
  for (const StepError& error : b.causes) of_b[{error.group, error.cause}] = &error;
  const bool one_machine = a.machine == b.machine;
  std::map<std::string, GroupSums> groups;
  const auto add_shared = [&](const std::string& group, double difference) {
    groups[group].shared += difference;
    groups[group].squares += difference * difference;
  };
  for (const StepError& error : a.causes) {
    const double relative = error.deviation / a.step;
    const auto found = of_b.find({error.group, error.cause});
    const StepError* other = found == of_b.end() ? nullptr : found->second;
    if (other != nullptr && (one_machine || same_rule(error, *other))) {
      add_shared(error.group, relative - other->deviation / b.step);
      of_b.erase(found);
    } else if (one_machine) {
      add_shared(error.group, relative);
    } else {
      groups[error.group].only_a += relative;
    }
  }
  for (const auto& [key, error] : of_b) {
    const double relative = error->deviation / b.step;
    if (one_machine) {
      add_shared(error->group, -relative);
    } else {
      groups[error->group].only_b += relative;
    }
  }
  double variance = 0;
  for (const auto& [group, sums] : groups) {
    variance += std::max(sums.shared * sums.shared, sums.squares) + sums.only_a * sums.only_a +
                sums.only_b * sums.only_b;
  }
  result.deviation = std::sqrt(variance);
  const double half = kInterval90 * result.deviation;
  constexpr double kLeast = 0.2;  // As for a step's own interval.
  result.low = result.ratio * std::max(1 - half, kLeast);
  result.high = result.ratio * (1 + half);
  return result;
}

std::string to_text(const RatioInterval& ratio) {
  char text[96];
  std::snprintf(text, sizeof text, "%.3f (%.3f to %.3f)", ratio.ratio, ratio.low, ratio.high);
  return text;
}

sim::Json ratio_json(const RatioInterval& ratio) {
  return {{"ratio", ratio.ratio}, {"low", ratio.low}, {"high", ratio.high}};
}

sim::Json errors_json(const StepErrors& errors) {
  sim::Json causes = sim::Json::array();
  for (const StepError& error : errors.causes) {
    causes.push_back({{"cause", error.cause},
                      {"group", error.group},
                      {"origin", error.origin},
                      {"deviation_s", error.deviation.count()}});
  }
  return {{"step_s", errors.step.count()}, {"machine", errors.machine}, {"causes", causes}};
}

StepErrors read_errors(const sim::JsonObject& json) {
  json.refuse_unknown({"step_s", "machine", "causes"});
  StepErrors errors;
  errors.step = Seconds(json.number("step_s"));
  errors.machine = json.text("machine");
  for (const sim::JsonObject& cause : json.objects("causes")) {
    cause.refuse_unknown({"cause", "group", "origin", "deviation_s"});
    errors.causes.push_back({.cause = cause.text("cause"),
                             .group = cause.text("group"),
                             .origin = cause.text("origin"),
                             .deviation = Seconds(cause.number("deviation_s"))});
  }
  return errors;
}

}  // namespace sluice::planner
