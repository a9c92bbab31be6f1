// Other programs' keys for training adapters or parts of a model, where Sluice trains all weights.
#pragma once

#include <optional>
#include <string>

#include "planner/runs/refusal.hpp"

namespace sluice::planner {

struct RunConfig;

/// The one refusal of a run that asks for adapters (finetuning_type: lora, adapter: qlora,
/// load_in_4bit, ...): what all weights of its model take, and what to write. `file` is the run's
/// file, named in the command that predicts. None where the run trains all weights; keys that are
/// then without effect, such as lora_rank, become a note.
[[nodiscard]] std::optional<Refusal> adapter_refusal(RunConfig& config, const std::string& file);

}  // namespace sluice::planner
