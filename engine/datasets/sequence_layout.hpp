// Pieces of documents laid into sequences: several in one, or each in its own.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "planner/runs/run_config.hpp"

namespace sluice::engine {

/// Tokens first .. first + places of the data: `places` inputs, and as many targets shifted by one.
struct DocumentPiece {
  std::int64_t first, places;
  friend bool operator==(const DocumentPiece&, const DocumentPiece&) = default;
};

/// Numbers of sequences that packing several documents into each would make.
struct PackedSequences {
  std::int64_t training = 0, validation = 0;
};

/// Sequences of at most `seq_len` places. Packing::documents packs several pieces into a sequence;
/// Packing::off leaves each alone.
class SequenceLayout {
 public:
  SequenceLayout(planner::Packing packing, std::int64_t seq_len)
      : packing_(packing), seq_len_(seq_len) {}

  /// Appends sequences made of `pieces`, each of at most seq_len places; returns their number.
  std::int64_t add(std::span<const DocumentPiece> pieces);
  /// Appends sequences made of the pieces of `documents`, one document after another; returns their
  /// number.
  std::int64_t add(std::span<const std::vector<DocumentPiece>> documents);

  [[nodiscard]] std::int64_t sequences() const { return std::ssize(begins_) - 1; }
  /// Pieces of a sequence, in order.
  [[nodiscard]] std::span<const DocumentPiece> pieces_of(std::int64_t sequence) const;
  [[nodiscard]] std::span<const DocumentPiece> pieces() const { return pieces_; }
  /// Number of places that hold tokens; the others, of sequences() * seq_len, are padding.
  [[nodiscard]] std::int64_t places() const { return places_; }
  /// The sequences that Packing::documents would make of pieces that stand alone, the first
  /// `training` of which are trained; none where pieces are packed already.
  [[nodiscard]] std::optional<PackedSequences> if_packed(std::int64_t training) const;

  /// Fills a sequence's [seq_len] inputs and targets: `read(piece, inputs, targets)` writes the
  /// places of each piece, and padding follows them. With Packing::documents the first input of
  /// each document, and of padding, is marked (planner::Role::tokens).
  template <class ReadPiece>
  void fill(std::int64_t sequence, std::int32_t* inputs, std::int32_t* targets,
            const ReadPiece& read) const {
    std::int64_t at = 0;
    for (const DocumentPiece& piece : pieces_of(sequence)) {
      read(piece, inputs + at, targets + at);
      mark(inputs + at);
      at += piece.places;
    }
    pad(at, inputs, targets);
  }

 private:
  void mark(std::int32_t* input) const;
  void pad(std::int64_t from, std::int32_t* inputs, std::int32_t* targets) const;

  planner::Packing packing_;
  std::int64_t seq_len_;
  std::vector<DocumentPiece> pieces_;  ///< Pieces in the order of the sequences.
  /// Index of each sequence's first piece, and the number of pieces at the end.
  std::vector<std::int64_t> begins_ = {0};
  std::int64_t places_ = 0;
};

}  // namespace sluice::engine
