#include "planner/policies/policy_changes.hpp"

#include <optional>

#include "planner/policies/run_job.hpp"
#include "sim/error.hpp"

namespace sluice::planner {

std::vector<std::string> policy_changes(const RunConfig& config, const Job& after) {
  if (!config.policy) return {};
  RunConfig plain = config;
  plain.policy.reset();
  plain.policy_overrides.clear();
  const Job before = to_job(plain);
  std::vector<std::string> changes;
  const auto note = [&](bool changed, const std::string& text) {
    if (changed) changes.push_back(text);
  };
  note(before.optimizer.state != after.optimizer.state,
       std::string("optimizer.state ") + to_string(after.optimizer.state));
  note(before.optimizer.clip != after.optimizer.clip,
       after.optimizer.clip ? "optimizer.clip " + std::to_string(*after.optimizer.clip)
                            : "optimizer.clip off");
  note(before.compute != after.compute, std::string("compute ") + to_string(after.compute));
  note(before.gradient_wire != after.gradient_wire,
       after.gradient_wire == GradientWire::bf16 ? "gradient_wire bf16" : "gradient_wire fp32");
  note(before.batch_size != after.batch_size, "batch_size " + std::to_string(after.batch_size));
  note(before.micro_batch != after.micro_batch, "micro_batch " + std::to_string(after.micro_batch));
  note(before.loss_chunk != after.loss_chunk, "loss_chunk " + std::to_string(after.loss_chunk));
  note(before.mlp_chunk != after.mlp_chunk, "mlp_chunk " + std::to_string(after.mlp_chunk));
  note(before.operators != after.operators, std::string("operators ") + to_string(after.operators));
  note(before.attention_library != after.attention_library,
       std::string("attention ") + to_string(after.attention_library));
  note(after.sequence_chunk.has_value() && before.sequence_chunk != after.sequence_chunk,
       "sequence_chunk " + std::to_string(after.sequence_chunk.value_or(0)));
  return changes;
}

std::vector<std::string> policy_notes(const RunConfig& config, const Policy& policy) {
  std::vector<std::string> notes;
  try {
    std::optional<ResolvedMachine> machine;
    for (const std::string& change : policy_changes(config, to_job(config, policy, machine))) {
      const std::string path = change.substr(0, change.find(' '));
      if (!config.stated.contains(path)) continue;
      notes.push_back("policy " + policy.name() + " states " + change +
                      ", which holds over the run's own " + path);
    }
  } catch (const BadRequest&) {
    return {};  // Whoever needs the run whole says what it lacks.
  }
  return notes;
}

}  // namespace sluice::planner
