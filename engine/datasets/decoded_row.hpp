// Text of tokens, in parts that are learnt or only read.
#pragma once

#include <span>
#include <vector>

#include "engine/datasets/data_summary.hpp"
#include "engine/tokenizer/tokenizer.hpp"

namespace sluice::engine {

/// The text that a document's tokens decode to, special tokens included, in parts that begin and
/// end where learnt tokens do.
[[nodiscard]] std::vector<ShownPiece> decoded(const Tokenizer& tokenizer,
                                              std::span<const LearntToken> tokens);

}  // namespace sluice::engine
