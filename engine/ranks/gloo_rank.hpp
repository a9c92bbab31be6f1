// A rank that is a process, connected with the others by Gloo over TCP.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "engine/ranks/board.hpp"
#include "engine/ranks/control.hpp"
#include "engine/ranks/fabric.hpp"
#include "engine/ranks/rank_failure.hpp"

namespace sluice::engine {

/// Whether this build has Gloo; without it ranks are threads of one process.
[[nodiscard]] bool has_gloo();

struct GlooSettings {
  /// How long a rank waits for another one before all end, at the start and later.
  std::chrono::milliseconds patience = kUsualPatience;
  /// Name or address of the network interface's host side that the others reach this rank by.
  std::string address = "127.0.0.1";
  /// Names of the ranks' hosts, by rank; empty where there is one host.
  std::vector<std::string> hosts = {};
};

/// One rank's connections to all others, with its control and its fabric, which may be used from
/// two threads at a time.
class GlooRank {
 public:
  /// Meets the other ranks at `board`, which must outlive this object and hold nothing of another
  /// start. Throws RankFailure if a rank does not come, BadRequest if another process came as this
  /// rank, EnvironmentError if this build has no Gloo or the network refuses.
  GlooRank(World world, Board& board, const GlooSettings& settings);
  ~GlooRank();

  [[nodiscard]] Control& control();
  [[nodiscard]] Fabric& fabric();

 private:
  class Mesh;
  class MeshControl;
  class MeshFabric;
  std::unique_ptr<Mesh> mesh_;
  std::unique_ptr<Control> control_;
  std::unique_ptr<Fabric> fabric_;
};

}  // namespace sluice::engine
