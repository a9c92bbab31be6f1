// Line on the time that packing saves.
#pragma once

#include <optional>
#include <string>

#include "profiler/training/packing_advice.hpp"

namespace sluice::cli {

/// Text of what packing would save, with times: "98.1 % of places are padding: packing=documents
/// would take 11 sequences and about 16.3 s instead of 500 and 1397 s".
[[nodiscard]] std::string padding_text(const profiler::PackingAdvice& advice);
/// Text of what packing would save, without times, for verbs that predict none.
[[nodiscard]] std::string padding_text(const engine::WindowedText& text,
                                       const engine::PackedSequences& packed);
/// A table's line that says what packing would save; empty without advice.
[[nodiscard]] std::string padding_line(const std::optional<profiler::PackingAdvice>& advice);

}  // namespace sluice::cli
