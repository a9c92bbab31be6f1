#include "engine/datasets/usable_tokenizer.hpp"

#include <variant>

#include "sim/error.hpp"

namespace sluice::engine {

std::optional<TokenizerFolder> usable_tokenizer(const TokenizerPlace& place) {
  if (!place.folder) return std::nullopt;
  auto found = find_tokenizer(*place.folder);
  if (auto* tokenizer = std::get_if<TokenizerFolder>(&found)) return std::move(*tokenizer);
  if (place.bytes) return std::nullopt;
  throw BadRequest("model: has weights and no tokenizer.json: " + std::get<NoTokenizer>(found).why +
                   "; or state data_format=bytes to take byte values as tokens");
}

}  // namespace sluice::engine
