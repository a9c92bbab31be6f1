// What all ranks of a run must have in common, compared before the first step.
#pragma once

#include <string>
#include <vector>

#include "engine/ranks/control.hpp"

namespace sluice::engine {

/// A value that must be the same on every rank.
struct AgreedFact {
  std::string name;    ///< What it is, such as "job hash"; without line breaks.
  std::string value;   ///< Without line breaks.
  std::string remedy;  ///< What to do where values differ, as an imperative.
};

/// Compares `facts` of all ranks, which must name the same ones in the same order. Throws
/// BadRequest, with the same line on every rank, for the first rank and fact that differ from rank
/// 0's.
void require_agreement(Control& control, const std::vector<AgreedFact>& facts);

}  // namespace sluice::engine
