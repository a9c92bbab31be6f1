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

/// Rates of one point, one for each repetition that measured it: parameters/s of the update,
/// bytes/s of copies.
struct RepetitionRates {
  std::vector<double> update, h2d, d2h;
};

/// One point of the grid: rates that were reached at the same time; 0 for what did not run.
struct ContentionPoint {
  std::int64_t threads = 0;  ///< Number of threads of the CPU optimizer; 0 where it did not run.
  Copies copies = Copies::none;
  planner::Fact update;    ///< Parameters/s that the CPU optimizer updates.
  planner::Fact h2d, d2h;  ///< Bytes/s of copies to the device and from it.
  /// Rates of each repetition behind the three facts; empty where they were not kept.
  RepetitionRates repetitions{};
};
using ContentionGrid = std::vector<ContentionPoint>;

[[nodiscard]] constexpr bool copies_down(Copies copies) {
  return copies == Copies::h2d || copies == Copies::both;
}
[[nodiscard]] constexpr bool copies_up(Copies copies) {
  return copies == Copies::d2h || copies == Copies::both;
}

/// The grid as JSON text of the format "sluice/contention/1", from which it can be fitted again
/// without the machine.
[[nodiscard]] std::string to_json_text(const ContentionGrid& grid);
/// Parses a grid's JSON text. Throws BadRequest that begins with `where` (the file's name) and
/// names the field.
[[nodiscard]] ContentionGrid contention_grid_from_json(const std::string& text,
                                                       const std::string& where);

}  // namespace sluice::profiler
