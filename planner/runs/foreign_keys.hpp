// Other programs' names for what RUN.yaml states: LLaMA-Factory 0.9, axolotl 0.12, TRL 1,
// torchtune 0.6 and transformers' TrainingArguments 4 and 5, which all of them share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/runs/foreign_key.hpp"

namespace sluice::planner {

struct RunConfig;

/// Applies another program's key: sets what it stands for, notes that it changes nothing here
/// (RunConfig::notes), or throws BadRequest naming the key, whose it is and what to write instead.
/// False where no program has a key of this name.
[[nodiscard]] bool set_foreign_key(RunConfig& config, const std::string& key,
                                   const std::string& value);

/// The program that has a key of this name; the one that others took it from where several have.
[[nodiscard]] std::optional<Program> program_of(const std::string& key);

/// The path of ours that a key is another name of, and else the key itself.
[[nodiscard]] std::string our_path(const std::string& key);

/// When a key of a file is applied: keys of a higher rank after all keys of a lower one, because
/// they hold over them or are stated in terms of them.
[[nodiscard]] int rank_of(const std::string& key);

/// Every key that set_foreign_key knows by its whole name.
[[nodiscard]] std::vector<std::string> foreign_keys();

}  // namespace sluice::planner
