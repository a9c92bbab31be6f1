// Contention grid: rates that copies and the CPU optimizer reach together on one machine, to which
// the contention model is fitted, and its file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/machines/machine.hpp"

namespace sluice::profiler {

enum class Copies { none, h2d, d2h, both };
const char* to_string(Copies copies);

/// A point's rates in each repetition that measured it.
struct RepetitionRates {
  std::vector<double> update, h2d, d2h;
};

/// Rates that were reached at the same time; 0 for what did not run.
struct ContentionPoint {
  std::int64_t threads = 0;  ///< Threads of the CPU optimizer; 0 where it did not run.
  Copies copies = Copies::none;
  planner::Fact update;           ///< Parameters/s of the CPU optimizer.
  planner::Fact h2d, d2h;         ///< Bytes/s of copies.
  RepetitionRates repetitions{};  ///< The repetitions behind these rates, where they were kept.
};
using ContentionGrid = std::vector<ContentionPoint>;

[[nodiscard]] constexpr bool copies_down(Copies copies) {
  return copies == Copies::h2d || copies == Copies::both;
}
[[nodiscard]] constexpr bool copies_up(Copies copies) {
  return copies == Copies::d2h || copies == Copies::both;
}

/// The grid as JSON, "sluice/contention/1", so that it can be fitted again without the machine.
[[nodiscard]] std::string to_json_text(const ContentionGrid& grid);
/// Parses a grid. Throws BadRequest naming `where` and the field.
[[nodiscard]] ContentionGrid contention_grid_from_json(const std::string& text,
                                                       const std::string& where);

}  // namespace sluice::profiler
