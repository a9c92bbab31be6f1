#include "planner/runs/run_config.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "planner/catalogue/catalogue.hpp"
#include "planner/files/choice.hpp"
#include "planner/machines/copy_limits.hpp"
#include "planner/machines/profile_file.hpp"
#include "planner/policies/policy.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

void require_given(std::int64_t value, const char* field, const char* flag) {
  if (value == 0) {
    throw BadRequest(std::string(field) + " is missing: give " + flag + " N, or " + field +
                     ": N in RUN.yaml");
  }
}

Bytes capacity(const std::optional<Bytes>& limit, const Fact& fact) {
  return limit ? *limit : Bytes(static_cast<std::int64_t>(fact.value));
}

/// A share of the run's steps, rounded up as transformers does.
std::int64_t share_of(double fraction, std::int64_t steps) {
  return static_cast<std::int64_t>(std::ceil(fraction * static_cast<double>(steps)));
}

std::int64_t warmup_of(const Schedule& schedule, std::int64_t steps) {
  return schedule.warmup_steps > 0 ? schedule.warmup_steps
                                   : share_of(schedule.warmup_fraction, steps);
}

std::int64_t decay_of(const Schedule& schedule, std::int64_t steps, std::int64_t warmup) {
  const std::int64_t asked =
      schedule.decay_steps > 0 ? schedule.decay_steps : share_of(schedule.decay_fraction, steps);
  return std::min(asked, steps - warmup);
}

/// Of the rate's way down, once `done` of it is behind.
double left_of(const Schedule& schedule, double done) {
  using Kind = Schedule::Kind;
  using Shape = Schedule::Shape;
  const bool wsd = schedule.kind == Kind::wsd;
  if (schedule.kind == Kind::linear || (wsd && schedule.decay_shape == Shape::linear)) {
    return 1 - done;
  }
  if (wsd && schedule.decay_shape == Shape::sqrt) return 1 - std::sqrt(done);
  return 0.5 * (1 + std::cos(std::numbers::pi * done));
}

}  // namespace

double learning_rate(const Schedule& schedule, double lr, std::int64_t step, std::int64_t steps) {
  const std::int64_t warmup = std::min(warmup_of(schedule, steps), steps);
  if (step <= warmup) return lr * static_cast<double>(step) / static_cast<double>(warmup);
  if (schedule.kind == Schedule::Kind::constant) return lr;
  const bool wsd = schedule.kind == Schedule::Kind::wsd;
  const std::int64_t decaying = wsd ? decay_of(schedule, steps, warmup) : steps - warmup;
  const std::int64_t past = step - (steps - decaying);
  if (past <= 0) return lr;
  const double done = std::min(1.0, static_cast<double>(past) / static_cast<double>(decaying));
  return lr * (schedule.final_fraction + (1 - schedule.final_fraction) * left_of(schedule, done));
}

void settle(RunConfig& config) {
  if (!config.gradient_accumulation) return;
  const std::int64_t sequences = *config.gradient_accumulation * config.micro_batch;
  if (config.batch_size != 0 && config.batch_size != sequences) {
    throw BadRequest("gradient_accumulation: " + std::to_string(*config.gradient_accumulation) +
                     " x micro_batch " + std::to_string(config.micro_batch) +
                     " is not batch_size (" + std::to_string(config.batch_size) +
                     "): give one of the two");
  }
  config.batch_size = sequences;
  config.gradient_accumulation.reset();
}

Job to_job(const RunConfig& config) {
  if (config.model.empty()) {
    throw BadRequest("model is missing: give --model NAME, or model: NAME in RUN.yaml");
  }
  require_given(config.seq_len, "seq_len", "--seq-len");
  require_given(config.batch_size, "batch_size", "--batch-size");
  const RunConfig stated = stated_with_policy(config);
  Job job;
  job.model = find_model(stated.model);
  job.seq_len = stated.seq_len;
  job.batch_size = stated.batch_size;
  job.micro_batch = stated.micro_batch;
  job.loss_chunk = stated.loss_chunk;
  job.mlp_chunk = stated.mlp_chunk;
  job.compute = stated.compute;
  job.gradient_wire = stated.gradient_wire;
  job.router_aux_loss_coef = stated.router_aux_loss_coef;
  job.optimizer = stated.optimizer;
  if (stated.packing == Packing::documents) job.attention = AttentionSpan::document;
  job = with_policy(std::move(job), config);
  validate(job);
  return job;
}

ResolvedMachine to_machine(const RunConfig& config) {
  ResolvedMachine machine;
  machine.profile = find_machine(config.machine, config.backend);
  if (config.backend && machine.profile.device != *config.backend) {
    throw BadRequest(std::string("backend: ") + to_string(*config.backend) + ", but machine " +
                     config.machine + " is for backend " + to_string(machine.profile.device) +
                     ": leave backend out, or name another machine");
  }
  machine.calibration_hash = profile_hash(machine.profile);
  for (const auto& [name, value] : config.machine_overrides) {
    set_fact(machine.profile, name, value);
  }
  machine.hbm = capacity(config.limits.hbm, machine.profile.hbm);
  machine.host = capacity(config.limits.host, machine.profile.host);
  machine.disk = capacity(config.limits.disk, machine.profile.disk);
  machine.disk_path = config.disk_path;
  machine.state_on_disk = config.limits.disk.has_value() && machine.disk > Bytes(0);
  if (config.limits.pinned && *config.limits.pinned < machine.host) stage_copies(machine);
  if (config.limits.link) limit_link(machine, *config.limits.link);
  return machine;
}

const char* to_string(Schedule::Kind kind) {
  switch (kind) {
    case Schedule::Kind::constant:
      return "constant";
    case Schedule::Kind::linear:
      return "linear";
    case Schedule::Kind::cosine:
      return "cosine";
    case Schedule::Kind::wsd:
      return "wsd";
  }
  return "";
}

const char* to_string(Schedule::Shape shape) {
  switch (shape) {
    case Schedule::Shape::linear:
      return "linear";
    case Schedule::Shape::cosine:
      return "cosine";
    case Schedule::Shape::sqrt:
      return "sqrt";
  }
  return "";
}

const char* to_string(Residency residency) {
  return residency == Residency::automatic ? "auto" : "host";
}
const char* to_string(DataFormat format) {
  switch (format) {
    case DataFormat::automatic:
      return "auto";
    case DataFormat::text:
      return "text";
    case DataFormat::jsonl:
      return "jsonl";
    case DataFormat::alpaca:
      return "alpaca";
    case DataFormat::sharegpt:
      return "sharegpt";
    case DataFormat::messages:
      return "messages";
  }
  return "";
}

const char* to_string(Packing packing) {
  switch (packing) {
    case Packing::automatic:
      return "auto";
    case Packing::stream:
      return "stream";
    case Packing::documents:
      return "documents";
    case Packing::off:
      return "off";
  }
  return "";
}

const char* to_string(ComputeType type) { return type == ComputeType::bf16 ? "bf16" : "fp32"; }
const char* to_string(GradientWire wire) { return wire == GradientWire::bf16 ? "bf16" : "fp32"; }

}  // namespace sluice::planner
