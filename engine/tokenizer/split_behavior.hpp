// Behaviours of a split: the fate of the matches at which a text is cut.
#pragma once

#include <optional>
#include <string_view>

#include "engine/tokenizer/piece.hpp"

namespace sluice::engine {

/// Behaviours of a cut at "-" in "a--b": removed gives a, b; isolated a, -, -, b; contiguous a, --,
/// b; merged_with_previous a-, -, b; merged_with_next a, -, -b.
enum class SplitBehavior { removed, isolated, contiguous, merged_with_previous, merged_with_next };

/// The behaviour of a name in a tokenizer.json; none for an unknown one.
[[nodiscard]] std::optional<SplitBehavior> split_behavior(std::string_view name);

/// Cuts one piece at matches that are given from left to right.
class Splitting {
 public:
  /// Passes on the pieces that are not empty to `sink`. `inverted`: the text between matches counts
  /// as matched, and the matches as the text between.
  Splitting(const Piece& piece, SplitBehavior behavior, bool inverted, const PieceSink& sink)
      : piece_(piece), behavior_(behavior), inverted_(inverted), sink_(sink) {}

  /// Takes the next match, bytes [begin, end) of the piece.
  void match(std::size_t begin, std::size_t end);
  void finish();

 private:
  void segment(std::size_t begin, std::size_t end, bool matched);
  void emit(std::size_t begin, std::size_t end) const;

  struct Segment {
    std::size_t begin, end;
  };

  const Piece& piece_;
  SplitBehavior behavior_;
  bool inverted_;
  const PieceSink& sink_;
  std::size_t done_ = 0;
  std::optional<Segment> held_;  ///< A segment that the next one may still join.
  bool last_matched_ = false;
};

}  // namespace sluice::engine
