// Other programs' names for what RUN.yaml states: LLaMA-Factory 0.9, axolotl 0.12, TRL 1,
// torchtune 0.6 and transformers' TrainingArguments 4 and 5, which all of them share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/runs/foreign_key.hpp"

namespace sluice::planner {

struct RunConfig;

/// Applies a key of another program's training files to the run: sets what it means, adds a note
/// that it has no effect (RunConfig::notes), or throws BadRequest naming the key, its program and
/// what to write instead. False where no program has a key of this name.
[[nodiscard]] bool set_foreign_key(RunConfig& config, const std::string& key,
                                   const std::string& value);

/// The program that has a key of this name; where several have, the one from which the others took
/// it. None where no program has.
[[nodiscard]] std::optional<Program> program_of(const std::string& key);

/// The path of RUN.yaml of which `key` is another name; `key` itself where it is none.
[[nodiscard]] std::string our_path(const std::string& key);

/// Order in which the keys of a file are applied: keys of a higher rank after all of a lower one,
/// because they hold over those or their values are relative to them.
[[nodiscard]] int rank_of(const std::string& key);

/// Every key that set_foreign_key knows by its whole name.
[[nodiscard]] std::vector<std::string> foreign_keys();

}  // namespace sluice::planner
