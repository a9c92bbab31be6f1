#include "cli/forward/turn_ends.hpp"

#include <variant>

#include "engine/tokenizer/tokenizer_folder.hpp"

namespace sluice::cli {

std::vector<std::int32_t> turn_ends(const engine::CheckpointFacts& facts,
                                    const std::optional<std::filesystem::path>& folder) {
  if (!facts.turn_end || !folder) return {};
  const auto found = engine::find_tokenizer(*folder);
  if (!std::holds_alternative<engine::TokenizerFolder>(found)) return {};
  const auto id = std::get<engine::TokenizerFolder>(found).load().find(*facts.turn_end);
  return id ? std::vector<std::int32_t>{*id} : std::vector<std::int32_t>{};
}

}  // namespace sluice::cli
