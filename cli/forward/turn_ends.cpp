#include "cli/forward/turn_ends.hpp"

#include <filesystem>

#include "engine/tokenizer/tokenizer.hpp"

namespace sluice::cli {

std::vector<std::int32_t> turn_ends(const engine::CheckpointFacts& facts) {
  if (!facts.turn_end || !facts.model_folder) return {};
  const std::filesystem::path file = *facts.model_folder / "tokenizer.json";
  if (!std::filesystem::is_regular_file(file)) return {};
  const auto id = engine::Tokenizer::from_file(file).find(*facts.turn_end);
  return id ? std::vector<std::int32_t>{*id} : std::vector<std::int32_t>{};
}

}  // namespace sluice::cli
