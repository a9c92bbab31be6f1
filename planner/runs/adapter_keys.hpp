// Other programs' keys for training adapters or parts of a model, where Sluice trains all weights.
#pragma once

#include <optional>
#include <string>

#include "planner/runs/refusal.hpp"

namespace sluice::planner {

struct RunConfig;

/// The refusal of a run whose file asks for adapters (finetuning_type: lora, adapter: qlora,
/// load_in_4bit, ...): it says what training all weights of the model takes, and what to write for
/// that. `file` is the run's file, which the command in the refusal names. None where the run
/// trains all weights; keys that then have no effect, such as lora_rank, become a note of `config`.
[[nodiscard]] std::optional<Refusal> adapter_refusal(RunConfig& config, const std::string& file);

}  // namespace sluice::planner
