// Measurements that would narrow a prediction's interval, and by how much.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "planner/machines/knowledge.hpp"
#include "planner/predictions/basis.hpp"

namespace sluice::planner {

/// One measurement or statement, with the interval that a prediction would have after it.
struct Narrowing {
  std::string name;  ///< Name in JSON: "state_host", "probe" or "teach".
  std::string what;  ///< What to do, in words.
  Seconds half{0};   ///< Half the width of the step's 90 % interval after it.
};

/// The measurements that would narrow the interval of a prediction with this basis by a twentieth
/// or more, the one after which it is narrowest first; of equally good ones the cheapest. Each is
/// taken to bring the numbers that it measures to a deviation typical of its kind:
///
///   state_host  rules about the CPU and its memory to 10 %, that of published triads
///   probe       every datasheet's or rule's number, and on a catalogue machine those that were
///               measured on another, to 4 %
///   teach       every pass, copy and update to 1.2 %, and each to an error of its own
///
/// 4 and 1.2 %: what probed and taught predictions missed on average (docs/evidence.md).
[[nodiscard]] std::vector<Narrowing> narrowings(std::span<const BasisLine> basis,
                                                Knowledge knowledge);

}  // namespace sluice::planner
