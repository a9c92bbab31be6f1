// Builds without Gloo: ranks are threads of one process.
#include "engine/ranks/gloo_rank.hpp"

namespace sluice::engine {

class GlooRank::Mesh {};

bool has_gloo() { return false; }

GlooRank::GlooRank(World /*world*/, Board& /*board*/, const GlooSettings& /*settings*/) {
  throw EnvironmentError(
      "this build has no Gloo, by which processes are ranks: install libgloo-dev and build again, "
      "or let ranks be threads of one process (--devices)");
}

GlooRank::~GlooRank() = default;
Control& GlooRank::control() { return *control_; }
Fabric& GlooRank::fabric() { return *fabric_; }

}  // namespace sluice::engine
