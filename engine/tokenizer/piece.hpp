// Pieces of text on their way from the normalizers to the model.
#pragma once

#include <functional>
#include <string_view>

#include "engine/tokenizer/aligned_text.hpp"

namespace sluice::engine {

/// A piece of normalised text.
struct Piece {
  std::string_view text;
  /// Byte of the original at which the piece begins; meaningless where places are dropped and the
  /// text was changed.
  std::size_t begin = 0;
  /// The place of each byte of `text`; null if the text is the original's own, or where places are
  /// dropped.
  const Place* places = nullptr;

  [[nodiscard]] Piece part(std::size_t from, std::size_t to) const {
    const bool placed = places != nullptr && from < text.size();
    return {text.substr(from, to - from), placed ? places[from].begin : begin + from,
            placed ? places + from : nullptr};
  }
};

/// Takes pieces one by one; a piece is valid during the call.
using PieceSink = std::function<void(const Piece&)>;

/// The place in the original of the bytes [from, to) of `piece`, widened to whole characters.
[[nodiscard]] Place place_of(const Piece& piece, std::size_t from, std::size_t to);

}  // namespace sluice::engine
