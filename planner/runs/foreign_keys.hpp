// LLaMA-Factory's names for what RUN.yaml states (its examples/train_full/*.yaml, 0.9).
#pragma once

#include <string>
#include <vector>

namespace sluice::planner {

struct RunConfig;

/// Applies a LLaMA-Factory key: sets what it stands for, notes that it changes nothing here
/// (RunConfig::notes), or throws BadRequest naming the key, why it is refused and what to write
/// instead. False where `key` is not a known key of LLaMA-Factory.
[[nodiscard]] bool set_foreign_key(RunConfig& config, const std::string& key,
                                   const std::string& value);

/// Every key that set_foreign_key knows.
[[nodiscard]] std::vector<std::string> foreign_keys();

}  // namespace sluice::planner
