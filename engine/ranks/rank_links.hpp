// How one rank reaches the others.
#pragma once

#include "engine/ranks/control.hpp"
#include "engine/ranks/fabric.hpp"
#include "engine/ranks/world.hpp"

namespace sluice::engine {

/// One rank's control and fabric, which outlive what they are given to; both are null where there
/// is one rank.
struct RankLinks {
  Control* control = nullptr;
  Fabric* fabric = nullptr;

  [[nodiscard]] World world() const { return control == nullptr ? World{} : control->world(); }
};

}  // namespace sluice::engine
