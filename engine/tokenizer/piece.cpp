#include "engine/tokenizer/piece.hpp"

#include <algorithm>

namespace sluice::engine {
namespace {

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80; }

}  // namespace

Place place_of(const Piece& piece, std::size_t from, std::size_t to) {
  to = std::min(to, piece.text.size());
  from = std::min(from, to);
  if (piece.places != nullptr && from < to) {
    return {piece.places[from].begin, piece.places[to - 1].end};
  }
  if (from < to) {
    while (from > 0 && continues(piece.text[from])) --from;
    while (to < piece.text.size() && continues(piece.text[to])) ++to;
  }
  return {piece.begin + from, piece.begin + to};
}

}  // namespace sluice::engine
