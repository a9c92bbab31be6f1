#include "cli/shown/padding_text.hpp"

#include <fmt/format.h>

#include "sim/units_text.hpp"

namespace sluice::cli {

std::string padding_text(const profiler::PackingAdvice& advice) {
  return fmt::format(
      "{:.1f} % of places are padding: packing=documents would take {} sequences and about {} "
      "instead of {} and {}",
      100 * advice.padding, advice.packed_sequences, planner::format_seconds(advice.packed_time),
      advice.sequences, planner::format_seconds(advice.time));
}

std::string padding_text(const engine::WindowedText& text, const engine::PackedSequences& packed) {
  return fmt::format(
      "{:.1f} % of places are padding: packing=documents would take {} sequences instead of {}",
      100 * profiler::padding_of(text), packed.training + packed.validation,
      text.training_windows() + text.validation_windows());
}

std::string padding_line(const std::optional<profiler::PackingAdvice>& advice) {
  return advice ? "padding      " + padding_text(*advice) + "\n" : "";
}

}  // namespace sluice::cli
