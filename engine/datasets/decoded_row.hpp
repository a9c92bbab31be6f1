// Text of tokens, in parts that are learnt or only read.
#pragma once

#include <span>
#include <vector>

#include "engine/datasets/data_summary.hpp"
#include "engine/tokenizer/tokenizer.hpp"

namespace sluice::engine {

/// The text that the tokens decode to, special tokens included, parted where learnt tokens begin
/// and end.
[[nodiscard]] std::vector<ShownPiece> decoded(const Tokenizer& tokenizer,
                                              std::span<const LearntToken> tokens);

}  // namespace sluice::engine
