// Learning-rate schedules by transformers' names and settings.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>

#include "planner/files/yaml_document.hpp"
#include "planner/runs/foreign_rules.hpp"
#include "planner/runs/run_config.hpp"
#include "planner/runs/values.hpp"
#include "sim/error.hpp"
#include "sim/nearest_name.hpp"
#include "sim/units_text.hpp"

namespace sluice::planner {
namespace {

using Text = const std::string&;
using ScheduleKind = Schedule::Kind;

struct SchedulerName {
  const char* theirs;
  ScheduleKind ours;
};
constexpr std::array kSchedulers = {
    SchedulerName{"constant", ScheduleKind::constant},
    SchedulerName{"constant_with_warmup", ScheduleKind::constant},
    SchedulerName{"linear", ScheduleKind::linear},
    SchedulerName{"polynomial", ScheduleKind::linear},
    SchedulerName{"cosine", ScheduleKind::cosine},
    SchedulerName{"cosine_with_restarts", ScheduleKind::cosine},
    SchedulerName{"cosine_with_min_lr", ScheduleKind::cosine},
    SchedulerName{"cosine_warmup_with_min_lr", ScheduleKind::cosine},
    SchedulerName{"inverse_sqrt", ScheduleKind::inverse_sqrt},
    SchedulerName{"warmup_stable_decay", ScheduleKind::wsd},
};

/// Schedules that are known and not done, each with what is nearest.
struct NearScheduler {
  const char* theirs;
  const char* nearest;
};
constexpr std::array kNear = {
    NearScheduler{"reduce_lr_on_plateau",
                  "it follows the validation loss; nearest is "
                  "warmup_stable_decay"},
    NearScheduler{"greedy", "it follows the loss; nearest is warmup_stable_decay"},
    NearScheduler{"one_cycle", "nearest is cosine with warmup_ratio: 0.3"},
    NearScheduler{"rex", "nearest is polynomial with lr_scheduler_kwargs: {power: 0.7}"},
};

/// Sets what the end of the decay is, a share of the learning rate.
void set_end(RunConfig& run, double share, Text key) {
  if (share < 0 || share > 1) throw BadRequest(key + ": must be between 0 and the learning rate");
  run.schedule.final_fraction = share;
}

double share_of_rate(const RunConfig& run, double rate, Text key) {
  if (!(run.optimizer.lr > 0)) throw BadRequest(key + ": needs a learning rate above 0");
  return rate / run.optimizer.lr;
}

void set_cycles(RunConfig& run, Text value, Text key) {
  // A plain cosine counts whole waves, of which half a wave goes down once.
  if (run.stated.contains("schedule.cycles")) {
    run.schedule.cycles = parse_positive(value, key);
    return;
  }
  if (parse_number(value, key) != 0.5) {
    throw BadRequest(key + ": \"" + value +
                     "\" is not done here: half a wave (0.5) is; for restarts write "
                     "lr_scheduler_type: cosine_with_restarts");
  }
}

void set_decay_type(RunConfig& run, Text value, Text key) {
  const std::string shape = value == "1-sqrt" ? "sqrt" : value;
  require_one_of(shape, key, {"linear", "cosine", "sqrt"}, "linear, cosine and 1-sqrt are");
  set_path(run, "schedule.decay_shape", shape);
}

void set_one(RunConfig& run, Text name, Text value, Text key) {
  if (is_none(value)) return;
  if (name == "min_lr") return set_end(run, share_of_rate(run, parse_number(value, key), key), key);
  if (name == "min_lr_rate" || name == "min_lr_ratio") {
    return set_end(run, parse_number(value, key), key);
  }
  if (name == "lr_end") return set_end(run, share_of_rate(run, parse_number(value, key), key), key);
  if (name == "power") {
    set_path(run, "schedule.power", value);
  } else if (name == "num_cycles") {
    set_cycles(run, value, key);
  } else if (name == "timescale") {
    set_path(run, "schedule.timescale", value);
  } else if (name == "num_decay_steps") {
    set_path(run, "schedule.decay_steps", value);
  } else if (name == "num_stable_steps") {
    run.notes.push_back(key + " is ignored: what warm-up and decay leave of the run is stable");
  } else if (name == "decay_type") {
    set_decay_type(run, value, key);
  } else if (name == "warmup_type") {
    require_one_of(value, key, {"linear"}, "the warm-up is linear");
  } else {
    const std::vector<std::string> known = {"min_lr",     "min_lr_rate",     "min_lr_ratio",
                                            "lr_end",     "power",           "num_cycles",
                                            "timescale",  "num_decay_steps", "num_stable_steps",
                                            "decay_type", "warmup_type"};
    throw BadRequest(key + ": unknown key" + sim::did_you_mean(name, known));
  }
}

}  // namespace

void set_scheduler(RunConfig& run, Text value, Text key) {
  if (is_none(value)) return;
  if (value.starts_with("{")) {
    throw BadRequest(key +
                     ": a map is torchtune's form: write schedule: {kind: cosine, "
                     "warmup_steps: N}");
  }
  std::vector<std::string> known;
  for (const SchedulerName& name : kSchedulers) {
    known.emplace_back(name.theirs);
    if (value != name.theirs) continue;
    run.schedule.kind = name.ours;
    if (value == "cosine_with_restarts") set_path(run, "schedule.cycles", "1");
    if (value == "polynomial") run.schedule.final_fraction = share_of_rate(run, 1e-7, key);
    run.stated.insert("schedule.kind");
    return;
  }
  for (const NearScheduler& name : kNear) {
    if (value == name.theirs) {
      throw BadRequest(key + ": \"" + value + "\" is not done here: " + name.nearest);
    }
  }
  std::string all;
  for (const std::string& each : known) all.append(all.empty() ? "" : ", ").append(each);
  throw BadRequest(key + ": \"" + value + "\" is not one of " + all +
                   sim::did_you_mean(value, known));
}

void set_scheduler_settings(RunConfig& run, Text value, Text key) {
  if (is_none(value)) return;
  read_yaml(value, key, [&](const YAML::Node& map) {
    if (!map.IsMap()) throw BadRequest(key + ": must be a map of the schedule's settings");
    // transformers decays along a cosine unless told otherwise.
    if (run.schedule.kind == ScheduleKind::wsd) run.schedule.decay_shape = Schedule::Shape::cosine;
    for (const auto& item : map) {
      const std::string name = item.first.Scalar();
      const std::string text = item.second.IsScalar() ? item.second.Scalar() : "";
      set_one(run, name, text, key + "." + name);
    }
  });
}

}  // namespace sluice::planner
