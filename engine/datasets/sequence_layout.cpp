#include "engine/datasets/sequence_layout.hpp"

#include <algorithm>

#include "engine/datasets/packing.hpp"
#include "engine/datasets/token_source.hpp"

namespace sluice::engine {
namespace {

std::vector<std::vector<std::int64_t>> packed_pieces(std::span<const DocumentPiece> pieces,
                                                     std::int64_t seq_len) {
  std::vector<std::int64_t> lengths;
  lengths.reserve(pieces.size());
  for (const DocumentPiece& piece : pieces) lengths.push_back(piece.places);
  return packed(lengths, seq_len);
}

}  // namespace

std::int64_t SequenceLayout::add(std::span<const DocumentPiece> pieces) {
  const std::int64_t before = sequences();
  for (const DocumentPiece& piece : pieces) places_ += piece.places;
  if (packing_ != planner::Packing::documents) {
    for (const DocumentPiece& piece : pieces) {
      pieces_.push_back(piece);
      begins_.push_back(std::ssize(pieces_));
    }
    return sequences() - before;
  }
  for (const std::vector<std::int64_t>& sequence : packed_pieces(pieces, seq_len_)) {
    for (const std::int64_t piece : sequence) {
      pieces_.push_back(pieces[static_cast<std::size_t>(piece)]);
    }
    begins_.push_back(std::ssize(pieces_));
  }
  return sequences() - before;
}

std::int64_t SequenceLayout::add(std::span<const std::vector<DocumentPiece>> documents) {
  std::vector<DocumentPiece> all;
  for (const auto& pieces : documents) all.insert(all.end(), pieces.begin(), pieces.end());
  return add(all);
}

std::optional<PackedSequences> SequenceLayout::if_packed(std::int64_t training) const {
  if (packing_ != planner::Packing::off) return std::nullopt;
  const auto trained = static_cast<std::size_t>(training);
  return PackedSequences{
      .training = std::ssize(packed_pieces(pieces().first(trained), seq_len_)),
      .validation = std::ssize(packed_pieces(pieces().subspan(trained), seq_len_))};
}

std::span<const DocumentPiece> SequenceLayout::pieces_of(std::int64_t sequence) const {
  const auto begin = static_cast<std::size_t>(begins_[static_cast<std::size_t>(sequence)]);
  const auto end = static_cast<std::size_t>(begins_[static_cast<std::size_t>(sequence) + 1]);
  return std::span(pieces_).subspan(begin, end - begin);
}

void SequenceLayout::mark(std::int32_t* input) const {
  if (packing_ == planner::Packing::documents) *input = ~*input;
}

void SequenceLayout::pad(std::int64_t from, std::int32_t* inputs, std::int32_t* targets) const {
  if (from == seq_len_) return;
  std::fill(inputs + from, inputs + seq_len_, 0);
  std::fill(targets + from, targets + seq_len_, kPaddingTarget);
  mark(inputs + from);
}

}  // namespace sluice::engine
