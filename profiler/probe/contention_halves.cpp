#include "profiler/probe/contention_halves.hpp"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>

#include "sim/error.hpp"

namespace sluice::profiler {
namespace {

/// Whether one thing runs alone at the point, or both directions of copies: a fact that no other
/// point can replace.
bool is_fact(const ContentionPoint& point) {
  return point.threads == 0 || point.copies == Copies::none;
}

std::set<std::int64_t> thread_counts(const ContentionGrid& grid) {
  std::set<std::int64_t> counts;
  bool down = false, up = false;
  for (const ContentionPoint& point : grid) {
    if (point.threads > 0 && point.copies == Copies::none) counts.insert(point.threads);
    down = down || (point.threads == 0 && point.copies == Copies::h2d);
    up = up || (point.threads == 0 && point.copies == Copies::d2h);
  }
  if (!down || !up) throw BadRequest("contention grid: lacks copies alone (threads 0), each way");
  if (counts.size() < 3) {
    throw BadRequest("contention grid: has the optimizer alone on " +
                     std::to_string(counts.size()) + " thread counts; needs at least 3");
  }
  for (const ContentionPoint& point : grid) {
    if (point.threads > 0 && !counts.contains(point.threads)) {
      throw BadRequest("contention grid: lacks the optimizer alone on " +
                       std::to_string(point.threads) + " threads");
    }
  }
  return counts;
}

}  // namespace

std::array<ContentionHalf, 2> halve(const ContentionGrid& grid) {
  const std::set<std::int64_t> counts = thread_counts(grid);
  std::array<ContentionHalf, 2> halves;
  for (const ContentionPoint& point : grid) {
    const bool end =
        point.threads == 0 || point.threads == *counts.begin() || point.threads == *counts.rbegin();
    const auto row =
        point.threads == 0 ? 0 : std::distance(counts.begin(), counts.find(point.threads));
    const std::size_t own = static_cast<std::size_t>(row + static_cast<int>(point.copies)) % 2;
    for (std::size_t half = 0; half < 2; ++half) {
      ContentionHalf& to = halves[half];
      if (!is_fact(point)) {
        (half == own ? to.fitted : to.held_out).push_back(point);
        if (half == own) to.curve.push_back(point);
        continue;
      }
      to.fitted.push_back(point);
      // The ends cannot be interpolated.
      (end || half == own ? to.curve : to.held_out_of_curve).push_back(point);
    }
  }
  return halves;
}

}  // namespace sluice::profiler
