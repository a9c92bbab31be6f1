#include "planner/policies/run_job.hpp"

#include <utility>

#include "planner/catalogue/catalogue.hpp"
#include "planner/catalogue/model_source.hpp"
#include "planner/runs/run_machine.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

/// Adds what is said of a size that is not given.
void add_if_missing(std::vector<Refusal>& missing, std::int64_t value, const char* field,
                    const char* flag) {
  if (value != 0) return;
  missing.push_back({field, std::string(field) + " is missing: give " + flag + " N, or " + field +
                                ": N in RUN.yaml"});
}

/// Refuses fewer micro-batches than devices, each of which has a group of its own.
void require_micro_batches(std::int64_t devices, const Job& job) {
  if (devices == 1 || job.micro_batch < 1 || job.batch_size % job.micro_batch != 0) return;
  if (devices <= job.micro_batches()) return;
  throw BadRequest("devices: " + std::to_string(devices) +
                   " need as many micro-batches, and a step has " +
                   std::to_string(job.micro_batches()) +
                   ": set devices to at most that, raise batch_size or lower micro_batch");
}

}  // namespace

std::vector<Refusal> missing_sizes(const RunConfig& config) {
  std::vector<Refusal> missing;
  if (config.model.empty()) {
    missing.push_back({"model", "model is missing: give --model NAME, or model: NAME in RUN.yaml"});
  }
  add_if_missing(missing, config.seq_len, "seq_len", "--seq-len");
  if (!config.gradient_accumulation) {
    add_if_missing(missing, config.batch_size, "batch_size", "--batch-size");
  }
  return missing;
}

void require_sizes(const RunConfig& config) { throw_if_any(missing_sizes(config)); }

std::string model_place(const RunConfig& config) {
  return config.kept_model ? config.kept_model->string() : config.model;
}

Job to_job(const RunConfig& config) {
  require_sizes(config);
  std::optional<ResolvedMachine> machine;
  return to_job(config, policy_of(config), machine);
}

Job to_job(const RunConfig& config, const std::optional<Policy>& policy,
           std::optional<ResolvedMachine>& machine) {
  require_sizes(config);
  const RunConfig stated = policy ? policy->stated(config) : config;
  Job job;
  job.model = find_model(model_place(stated));
  if (stated.kept_model) job.model.name = model_name(stated.model);
  job.seq_len = stated.seq_len;
  job.batch_size = stated.batch_size;
  job.micro_batch = stated.micro_batch;
  job.groups = stated.groups.value_or(stated.devices);
  job.loss_chunk = stated.loss_chunk;
  job.mlp_chunk = stated.mlp_chunk;
  job.compute = stated.compute;
  job.gradient_wire = stated.gradient_wire;
  job.router_aux_loss_coef = stated.router_aux_loss_coef;
  job.optimizer = stated.optimizer;
  if (stated.packing == Packing::documents) job.attention = AttentionSpan::document;
  if (policy) {
    job.operators = policy->operators();
    job.attention_library = policy->attention();
  }
  if (policy && policy->sizes_job()) {
    if (!machine) machine = to_machine(config);
    job = policy->sized(std::move(job), machine->profile);
  }
  if (!stated.groups) require_micro_batches(stated.devices, job);
  validate(job);
  return job;
}

}  // namespace sluice::planner
