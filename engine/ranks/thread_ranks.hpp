// Ranks that are threads of one process: collectives copy from arena to arena.
#pragma once

#include <chrono>
#include <memory>

#include "engine/ranks/control.hpp"
#include "engine/ranks/fabric.hpp"
#include "engine/ranks/rank_failure.hpp"

namespace sluice::engine {

/// Control and fabric of each rank of one process.
class ThreadRanks {
 public:
  /// `patience`: how long a rank waits for another one before all end.
  explicit ThreadRanks(int size, std::chrono::milliseconds patience = kUsualPatience);
  ~ThreadRanks();

  [[nodiscard]] int size() const;
  /// Forgets that a rank failed. Call it only while no rank is in a call.
  void begin_again();
  [[nodiscard]] Control& control(int rank);
  [[nodiscard]] Fabric& fabric(int rank);

 private:
  struct Shared;
  class RankControl;
  class RankFabric;
  std::unique_ptr<Shared> shared_;
};

}  // namespace sluice::engine
