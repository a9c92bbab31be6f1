// A row of the data as it is trained, for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/datasets/data_summary.hpp"

namespace sluice::cli {

/// The way in which a row's learnt parts are told apart from those that are only read.
enum class LearntMarks {
  colours,   ///< The learnt parts are green, for a terminal.
  brackets,  ///< The learnt parts stand [[in brackets]].
};

/// The text of `pieces`, parts of a row, with the learnt ones marked. Control characters but line
/// feed and tab are written as escapes; what lies beyond `most` bytes is only counted.
[[nodiscard]] std::string marked_text(const std::vector<engine::ShownPiece>& pieces,
                                      LearntMarks marks, std::size_t most);
/// The ids of the tokens with the learnt ones marked; those beyond `most` are only counted.
[[nodiscard]] std::string marked_ids(const std::vector<engine::LearntToken>& tokens,
                                     LearntMarks marks, std::size_t most);

}  // namespace sluice::cli
