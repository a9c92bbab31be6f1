// Pieces of documents laid into sequences: several in one, or each in its own.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "planner/runs/run_config.hpp"

namespace sluice::engine {

/// A piece of a document: tokens `first` to first + places (included) of the data, of which all but
/// the last are inputs, and all but the first the targets of these.
struct DocumentPiece {
  std::int64_t first, places;
  friend bool operator==(const DocumentPiece&, const DocumentPiece&) = default;
};

/// Numbers of sequences that Packing::documents, several documents in each, would make.
struct PackedSequences {
  std::int64_t training = 0, validation = 0;
};

/// Division of pieces of documents into sequences of seq_len places. Packing::documents packs
/// several pieces into a sequence; Packing::off gives each a sequence of its own.
class SequenceLayout {
 public:
  SequenceLayout(planner::Packing packing, std::int64_t seq_len)
      : packing_(packing), seq_len_(seq_len) {}

  /// Appends sequences made of `pieces`, each of at most seq_len places; returns the number of new
  /// sequences.
  std::int64_t add(std::span<const DocumentPiece> pieces);
  /// Appends sequences made of the pieces of all `documents`; returns the number of new sequences.
  std::int64_t add(std::span<const std::vector<DocumentPiece>> documents);

  [[nodiscard]] std::int64_t sequences() const { return std::ssize(begins_) - 1; }
  /// Pieces of sequence number `sequence` (from 0), in order.
  [[nodiscard]] std::span<const DocumentPiece> pieces_of(std::int64_t sequence) const;
  [[nodiscard]] std::span<const DocumentPiece> pieces() const { return pieces_; }
  /// Number of places that hold tokens in all sequences; the others, of sequences() * seq_len, are
  /// padding.
  [[nodiscard]] std::int64_t places() const { return places_; }
  /// Numbers of sequences that Packing::documents would make of these pieces: of the first
  /// `training` ones, and of the others, which validate. Only with Packing::off, where each piece
  /// has a sequence of its own; none otherwise.
  [[nodiscard]] std::optional<PackedSequences> if_packed(std::int64_t training) const;

  /// Fills the [seq_len] inputs and targets of sequence number `sequence`: `read(piece, inputs,
  /// targets)` writes the places of each piece, and padding follows them. With Packing::documents
  /// the first input of each piece, and of padding, is marked (as ~id, see planner::Role::tokens),
  /// so that attention stays within documents.
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
  std::vector<DocumentPiece> pieces_;  ///< Pieces of all sequences, one sequence after another.
  /// Index in pieces_ of each sequence's first piece, and at the end the number of pieces.
  std::vector<std::int64_t> begins_ = {0};
  std::int64_t places_ = 0;
};

}  // namespace sluice::engine
