#include "planner/runs/paths.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "planner/catalogue/composed_machine.hpp"
#include "planner/files/choice.hpp"
#include "planner/files/yaml_document.hpp"
#include "planner/machines/profile_file.hpp"
#include "planner/plans/plan_overrides.hpp"
#include "planner/runs/foreign_keys.hpp"
#include "planner/runs/meant_paths.hpp"
#include "planner/runs/run_config.hpp"
#include "planner/runs/several_hosts.hpp"
#include "planner/runs/values.hpp"
#include "sim/error.hpp"
#include "sim/nearest_name.hpp"
#include "sim/units_text.hpp"

namespace sluice::planner {
namespace {

using Text = const std::string&;

struct RunPath {
  const char* path;
  void (*set)(RunConfig&, Text value, Text path);
};

void set_betas(RunConfig& run, Text value, Text path) {
  std::string both = value;
  if (both.size() > 2 && both.front() == '[' && both.back() == ']') {
    both = both.substr(1, both.size() - 2);
  }
  const auto comma = both.find(',');
  if (comma == std::string::npos || both.find(',', comma + 1) != std::string::npos) {
    throw BadRequest(path + ": \"" + value + "\" must be two numbers such as [0.9, 0.999]");
  }
  run.optimizer.beta1 = parse_number(both.substr(0, comma), path);
  run.optimizer.beta2 = parse_number(both.substr(comma + 1), path);
  for (const double beta : {run.optimizer.beta1, run.optimizer.beta2}) {
    if (beta < 0 || beta >= 1) throw BadRequest(path + ": must be at least 0 and less than 1");
  }
}

/// Replaces parts of the run's machine, or of the GPU's usual one where the run names no machine.
void set_parts(RunConfig& run, const PartFlags& parts) {
  const bool is_named = run.machine != RunConfig().machine;
  run.machine = composed_text(is_named ? std::optional(run.machine) : std::nullopt, parts);
}

void set_clip(RunConfig& run, Text value, Text path) {
  if (says_off(value)) {
    run.optimizer.clip.reset();
    return;
  }
  const double clip = parse_number(value, path);
  if (clip <= 0) throw BadRequest(path + ": \"" + value + "\" must be positive, or off");
  run.optimizer.clip = clip;
}

void set_backend(RunConfig& run, Text value, Text path) {
  run.backend.reset();
  if (!is_none(value))
    run.backend = parse_choice(value, path, {DeviceKind::host, DeviceKind::cuda});
}

void set_threads(RunConfig& run, Text value, Text path) {
  run.threads.reset();
  if (!is_none(value)) run.threads = parse_positive(value, path);
}

void set_schedule(RunConfig& run, Text value, Text path) {
  using Kind = Schedule::Kind;
  run.schedule.kind = parse_choice(
      value, path, {Kind::constant, Kind::linear, Kind::cosine, Kind::wsd, Kind::inverse_sqrt});
}

void set_decay_shape(RunConfig& run, Text value, Text path) {
  using Shape = Schedule::Shape;
  run.schedule.decay_shape = parse_choice(value, path, {Shape::linear, Shape::cosine, Shape::sqrt});
}

/// Sets columns.NAME: the data's own name of the field that holds NAME; none for the usual one.
void set_column(RunConfig& run, Text path, Text value) {
  const std::string held = path.substr(std::string("columns.").size());
  const std::vector<std::string>& known = data_columns();
  if (std::ranges::find(known, held) == known.end()) {
    throw BadRequest(path + ": unknown key" + sim::did_you_mean(held, known));
  }
  run.columns.erase(held);
  if (!is_none(value)) run.columns[held] = value;
  run.stated.insert("columns");
}

/// Sets all columns at once, from a map as YAML writes it in one line: {prompt: question}.
void set_columns(RunConfig& run, Text value, Text path) {
  if (is_none(value)) {
    run.columns.clear();
    return;
  }
  read_yaml(value, path, [&](const YAML::Node& map) {
    if (!map.IsMap()) throw BadRequest(path + ": must be a map such as {prompt: NAME}");
    run.columns.clear();
    for (const auto& item : map) {
      const std::string inner = path + "." + item.first.Scalar();
      if (item.second.IsMap() || item.second.IsSequence()) {
        throw BadRequest(inner + ": must be the name of a field");
      }
      set_column(run, inner, item.second.IsNull() ? "" : item.second.Scalar());
    }
  });
}

/// Sets the policy, which replaces a plan that was named before.
void set_policy(RunConfig& run, Text value, Text) {
  run.policy.reset();
  if (is_none(value)) return;
  run.policy = value;
  run.plan.reset();
}

void set_data_reading(RunConfig& run, Text value, Text path) {
  run.data_reading.reset();
  if (is_none(value)) return;
  const std::int64_t version = parse_positive(value, path);
  const auto present = static_cast<std::int64_t>(DataReading::present);
  if (version > present) {
    throw BadRequest(std::string(path) + ": " + std::to_string(version) +
                     " is of a newer Sluice: this one reads data by versions 1 to " +
                     std::to_string(present));
  }
  run.data_reading = static_cast<DataReading>(version);
}

/// Sets steps, which replace epochs that were set before.
void set_steps(RunConfig& run, Text value, Text path) {
  run.steps = parse_positive(value, path);
  run.epochs.reset();
}

void set_epochs(RunConfig& run, Text value, Text path) {
  run.epochs.reset();
  if (is_none(value)) return;
  const double epochs = parse_number(value, path);
  if (!(epochs > 0)) throw BadRequest(path + ": \"" + value + "\" must be more than 0");
  run.epochs = epochs;
}

/// A share of the run ("0.1") or of a pass over the data ("0.5 epochs"); none for whole steps.
std::optional<Cadence> parse_cadence(Text value, Text path) {
  for (const std::string unit : {" epochs", " epoch"}) {
    if (!value.ends_with(unit)) continue;
    const double amount = parse_number(value.substr(0, value.size() - unit.size()), path);
    if (!(amount > 0)) throw BadRequest(path + ": \"" + value + "\" must be more than 0");
    return Cadence{.amount = amount, .of = Cadence::Of::pass};
  }
  if (value.find_first_of(".eE") == std::string::npos) return std::nullopt;
  const double amount = parse_non_negative(value, path);
  if (amount == std::floor(amount)) return std::nullopt;
  if (amount < 1) return Cadence{.amount = amount};
  throw BadRequest(path + ": \"" + value +
                   "\" must be whole steps, a share of the run below 1, or such as \"0.5 epochs\"");
}

/// Whole steps, also written as 500.0.
std::int64_t parse_steps(Text value, Text path) {
  if (value.find_first_of(".eE") == std::string::npos) return parse_count(value, path);
  return static_cast<std::int64_t>(parse_between(value, path, 0, 1e15));
}

void set_evaluate_every(RunConfig& run, Text value, Text path) {
  run.evaluate_every.reset();
  run.evaluate_cadence.reset();
  if (is_none(value)) return;
  if (const auto cadence = parse_cadence(value, path)) return set_cadence(run, path, *cadence);
  run.evaluate_every = parse_steps(value, path);
}

void set_save_every(RunConfig& run, Text value, Text path) {
  run.save_every = 0;
  run.save_cadence.reset();
  if (is_none(value)) return;
  if (const auto cadence = parse_cadence(value, path)) return set_cadence(run, path, *cadence);
  run.save_every = parse_steps(value, path);
}

/// Sequences of several documents; other programs have the same key, true or false.
void set_packing_kind(RunConfig& run, Text value, Text path) {
  if (says_true(value)) {
    run.packing = Packing::documents;
  } else if (is_none(value)) {
    run.packing = Packing::automatic;
  } else if (says_off(value)) {
    run.packing = Packing::off;
  } else {
    run.packing = parse_choice(
        value, path, {Packing::automatic, Packing::stream, Packing::documents, Packing::off});
  }
}

/// A template's name or file; none for a null. Numbers, truth values, lists and maps are neither.
std::optional<std::string> parse_template(Text value, Text path) {
  if (is_none(value)) return std::nullopt;
  const bool number = value.find_first_of("0123456789") != std::string::npos &&
                      value.find_first_not_of("0123456789+-._eE") == std::string::npos;
  const bool list = value.starts_with('[') || value.starts_with('{');
  if (!number && !list && !says_true(value) && !says_off(value) && value != "a map") return value;
  throw BadRequest(path + ": \"" + value +
                   "\" is no template: give one\'s name, such as chatml, or the path of a .jinja "
                   "file, or leave it out for the one in the model\'s folder");
}

constexpr std::array kPaths = {
    RunPath{"model", [](RunConfig& run, Text v, Text p) { run.model = parse_name(v, p); }},
    RunPath{"data", [](RunConfig& run, Text v, Text p) { run.data = parse_data(v, p); }},
    RunPath{"mixture",
            [](RunConfig& run, Text v, Text p) {
              run.mixture = is_none(v) ? Mixture::weights : parse_mixture(v, p);
            }},
    RunPath{"columns", set_columns},
    RunPath{"dataset_dir", [](RunConfig& run, Text v, Text) { run.dataset_dir = parse_file(v); }},
    RunPath{
        "data_format",
        [](RunConfig& run, Text v, Text p) { run.data_format = parse_data_format(v, p); }},
    RunPath{"data_mask",
            [](RunConfig& run, Text v, Text) { run.data_mask = parse_file(v); }},
    RunPath{"data_dtype",
            [](RunConfig& run, Text v, Text p) {
              run.data_dtype = parse_choice(v, p, {TokenType::uint16, TokenType::uint32});
            }},
    RunPath{"max_samples",
            [](RunConfig& run, Text v, Text p) {
              run.max_samples.reset();
              if (!is_none(v)) run.max_samples = parse_positive(v, p);
            }},
    RunPath{"strict", [](RunConfig& run, Text v, Text p) { run.strict = parse_yes_or_no(v, p); }},
    RunPath{"template",
            [](RunConfig& run, Text v, Text p) { run.chat_template = parse_template(v, p); }},
    RunPath{"date_string",
            [](RunConfig& run, Text v, Text) {
              run.date_string = is_none(v) ? std::nullopt : std::optional(v);
            }},
    RunPath{"data_reading", set_data_reading},
    RunPath{"packing", set_packing_kind},
    RunPath{"seq_len", [](RunConfig& run, Text v, Text p) { run.seq_len = parse_positive(v, p); }},
    RunPath{"batch_size",
            [](RunConfig& run, Text v, Text p) {
              run.batch_size = is_none(v) ? 0 : parse_positive(v, p);
            }},
    RunPath{"micro_batch",
            [](RunConfig& run, Text v, Text p) { run.micro_batch = parse_positive(v, p); }},
    RunPath{"groups",
            [](RunConfig& run, Text v, Text p) {
              run.groups.reset();
              if (v != "auto" && !is_none(v)) run.groups = parse_positive(v, p);
            }},
    RunPath{"devices", [](RunConfig& run, Text v, Text p) { run.devices = parse_positive(v, p); }},
    RunPath{"loss_chunk", [](RunConfig& run, Text v, Text p) { run.loss_chunk = parse_positive(v, p); }},
    RunPath{"mlp_chunk", [](RunConfig& run, Text v, Text p) { run.mlp_chunk = parse_positive(v, p); }},
    RunPath{"router_aux_loss_coef",
            [](RunConfig& run, Text v, Text p) {
              run.router_aux_loss_coef.reset();
              if (!says_off(v)) run.router_aux_loss_coef = parse_non_negative(v, p);
            }},
    RunPath{"gradient_accumulation",
            [](RunConfig& run, Text v, Text p) { run.gradient_accumulation = parse_positive(v, p); }},
    RunPath{"steps", set_steps},
    RunPath{"epochs", set_epochs},
    RunPath{"seed",
            [](RunConfig& run, Text v, Text p) {
              run.seed = is_none(v) ? RunConfig().seed : parse_count(v, p);
            }},
    RunPath{"compute",
            [](RunConfig& run, Text v, Text p) {
              run.compute = parse_choice(v, p, kComputeTypes);
            }},
    RunPath{"gradient_wire",
            [](RunConfig& run, Text v, Text p) {
              run.gradient_wire = parse_choice(v, p, {GradientWire::fp32, GradientWire::bf16});
            }},
    RunPath{"optimizer.lr",
            [](RunConfig& run, Text v, Text p) { run.optimizer.lr = parse_non_negative(v, p); }},
    RunPath{"optimizer.betas", set_betas},
    RunPath{"optimizer.eps",
            [](RunConfig& run, Text v, Text p) { run.optimizer.eps = parse_non_negative(v, p); }},
    RunPath{
        "optimizer.weight_decay",
        [](RunConfig& run, Text v, Text p) { run.optimizer.weight_decay = parse_non_negative(v, p); }},
    RunPath{"optimizer.clip", set_clip},
    RunPath{"optimizer.state",
            [](RunConfig& run, Text v, Text p) {
              run.optimizer.state =
                  parse_choice(v, p, {StateType::fp32, StateType::bf16, StateType::int8,
                                      StateType::bf16_weights});
            }},
    RunPath{"optimizer.kind",
            [](RunConfig& run, Text v, Text p) {
              run.optimizer.kind = parse_choice(v, p, {OptimizerKind::adamw, OptimizerKind::muon});
            }},
    RunPath{"optimizer.momentum",
            [](RunConfig& run, Text v, Text p) {
              run.optimizer.muon.momentum = parse_non_negative(v, p);
            }},
    RunPath{"optimizer.nesterov",
            [](RunConfig& run, Text v, Text p) {
              run.optimizer.muon.nesterov = parse_yes_or_no(v, p);
            }},
    RunPath{"optimizer.ns_steps",
            [](RunConfig& run, Text v, Text p) {
              run.optimizer.muon.ns_steps = parse_positive(v, p);
            }},
    RunPath{"optimizer.adjust_lr_fn",
            [](RunConfig& run, Text v, Text p) {
              run.optimizer.muon.adjust_lr_fn =
                  parse_choice(v, p, {MuonRate::original, MuonRate::match_rms_adamw});
            }},
    RunPath{"schedule", set_schedule},
    RunPath{"schedule.kind", set_schedule},
    RunPath{"schedule.warmup_steps",
            [](RunConfig& run, Text v, Text p) { run.schedule.warmup_steps = parse_count(v, p); }},
    RunPath{"schedule.final_fraction",
            [](RunConfig& run, Text v, Text p) {
              run.schedule.final_fraction = parse_between(v, p, 0, 1);
            }},
    RunPath{"schedule.warmup_fraction",
            [](RunConfig& run, Text v, Text p) {
              run.schedule.warmup_fraction = parse_between(v, p, 0, 1);
            }},
    RunPath{"schedule.decay_steps",
            [](RunConfig& run, Text v, Text p) { run.schedule.decay_steps = parse_count(v, p); }},
    RunPath{"schedule.decay_fraction",
            [](RunConfig& run, Text v, Text p) {
              run.schedule.decay_fraction = parse_between(v, p, 0, 1);
            }},
    RunPath{"schedule.decay_shape", set_decay_shape},
    RunPath{"schedule.power",
            [](RunConfig& run, Text v, Text p) { run.schedule.power = parse_non_negative(v, p); }},
    RunPath{"schedule.cycles",
            [](RunConfig& run, Text v, Text p) { run.schedule.cycles = parse_positive(v, p); }},
    RunPath{"schedule.timescale",
            [](RunConfig& run, Text v, Text p) { run.schedule.timescale = parse_count(v, p); }},
    RunPath{"evaluate_every", set_evaluate_every},
    RunPath{"save_every", set_save_every},
    RunPath{"keep_last",
            [](RunConfig& run, Text v, Text p) {
              run.keep_last.reset();
              if (!is_none(v) && v != "all") run.keep_last = parse_positive(v, p);
            }},
    RunPath{"keep_best",
            [](RunConfig& run, Text v, Text p) { run.keep_best = parse_yes_or_no(v, p); }},
    RunPath{"machine", [](RunConfig& run, Text v, Text p) { run.machine = parse_name(v, p); }},
    RunPath{"gpu", [](RunConfig& run, Text v, Text) { set_parts(run, {.gpu = v, .cpu = {}, .ram = {}, .ssd = {}}); }},
    RunPath{"cpu", [](RunConfig& run, Text v, Text) { set_parts(run, {.gpu = {}, .cpu = v, .ram = {}, .ssd = {}}); }},
    RunPath{"ram", [](RunConfig& run, Text v, Text) { set_parts(run, {.gpu = {}, .cpu = {}, .ram = v, .ssd = {}}); }},
    RunPath{"ssd", [](RunConfig& run, Text v, Text) { set_parts(run, {.gpu = {}, .cpu = {}, .ram = {}, .ssd = v}); }},
    RunPath{"limits.hbm", [](RunConfig& run, Text v, Text p) { run.limits.hbm = parse_limit(v, p); }},
    RunPath{"limits.host", [](RunConfig& run, Text v, Text p) { run.limits.host = parse_limit(v, p); }},
    RunPath{"limits.disk", [](RunConfig& run, Text v, Text p) { run.limits.disk = parse_limit(v, p); }},
    RunPath{"limits.pinned",
            [](RunConfig& run, Text v, Text p) { run.limits.pinned = parse_limit(v, p); }},
    RunPath{"limits.link",
            [](RunConfig& run, Text v, Text p) { run.limits.link = parse_rate_limit(v, p); }},
    RunPath{
        "residency",
        [](RunConfig& run, Text v,
           Text
               p) { run.residency = parse_choice(v, p, {Residency::automatic, Residency::host}); }},
    RunPath{"plan", [](RunConfig& run, Text v, Text) { run.plan = parse_file(v); }},
    RunPath{"policy", set_policy},
    RunPath{"out", [](RunConfig& run, Text v, Text) { run.out = parse_file(v); }},
    RunPath{"working_folder",
            [](RunConfig& run, Text v, Text) { run.working_folder = parse_file(v); }},
    RunPath{"disk_path", [](RunConfig& run, Text v, Text) { run.disk_path = parse_file(v); }},
    RunPath{"threads", set_threads},
    RunPath{"backend", set_backend},
};

[[noreturn]] void refuse_unknown(const std::string& path) {
  if (const auto meant = path_meant_by(path)) {
    throw BadRequest(path + ": unknown key; did you mean \"" + *meant + "\"?");
  }
  std::vector<std::string> known = run_paths();
  for (std::string& name : foreign_keys()) known.push_back(std::move(name));
  throw BadRequest(path + ": unknown key" + sim::did_you_mean(path, known));
}

}  // namespace

std::vector<std::string> run_paths() {
  std::vector<std::string> names;
  names.reserve(std::size(kPaths));
  for (const RunPath& path : kPaths) names.emplace_back(path.path);
  return names;
}

void set_path(RunConfig& config, const std::string& path, const std::string& value) {
  if (path.starts_with("job.")) return set_path(config, path.substr(4), value);
  if (path.starts_with("machine.")) {
    const std::string fact = path.substr(8);
    if (fact == kKernelsFile) {
      config.machine_overrides.erase(fact);
      if (!is_none(value)) config.machine_overrides[fact] = value;
      return;
    }
    if (is_host_setting(fact)) {
      check_host_setting(fact, value);
    } else {
      MachineProfile scratch;
      set_fact(scratch, fact, value);
    }
    config.machine_overrides[fact] = value;
    return;
  }
  if (path.starts_with("policy.")) {
    config.policy_overrides[path.substr(7)] = value;
    return;
  }
  if (path.starts_with("columns.")) return set_column(config, path, value);
  if (path.starts_with("term.")) return switch_term(config.terms, path.substr(5), value);
  if (path.starts_with("plan.")) {
    check_plan_override(path.substr(5), value);
    config.plan_overrides[path.substr(5)] = value;
    return;
  }
  for (const RunPath& known : kPaths) {
    if (path != known.path) continue;
    known.set(config, value, path);
    config.stated.insert(path);
    return;
  }
  if (set_foreign_key(config, path, value)) return;
  refuse_unknown(path);
}

}  // namespace sluice::planner
