// Pieces of text on their way from the normalizers to the model.
#pragma once

#include <functional>
#include <string_view>

#include "engine/tokenizer/aligned_text.hpp"

namespace sluice::engine {

/// A piece of normalised text.
struct Piece {
  std::string_view text;
  /// Byte of the original at which the piece begins; meaningless where the text was changed without
  /// keeping places (Places::dropped).
  std::size_t begin = 0;
  /// For each byte of `text`, the bytes of the original that it stands for; null where `text` is
  /// the original's own or was made with Places::dropped.
  const Place* places = nullptr;

  [[nodiscard]] Piece part(std::size_t from, std::size_t to) const {
    const bool placed = places != nullptr && from < text.size();
    return {text.substr(from, to - from), placed ? places[from].begin : begin + from,
            placed ? places + from : nullptr};
  }
};

/// Function that is called with pieces one by one; a piece is valid during the call.
using PieceSink = std::function<void(const Piece&)>;

/// The bytes of the original that bytes [from, to) of `piece` stand for, widened to whole
/// characters.
[[nodiscard]] Place place_of(const Piece& piece, std::size_t from, std::size_t to);

}  // namespace sluice::engine
