// Master weights kept in a smaller type: what becomes of the optimizer's updates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/state/training_state.hpp"
#include "planner/models/shape.hpp"

namespace sluice::experiments {

/// Type in which master weights are stored between steps. AdamW computes in fp32 either way.
enum class MasterType { fp32, bf16 };

/// Counts of one tensor's parameters in an update.
struct UpdateCount {
  std::string tensor;
  std::int64_t parameters = 0;
  std::int64_t moved = 0;     ///< Parameters that AdamW moves: those with a first moment.
  std::int64_t vanished = 0;  ///< Moved parameters whose stored master is unchanged.
};

/// Follows the master weights of a run from step to step. With MasterType::bf16 each is rounded to
/// nearest, ties to even, after its update, and the next update starts from the rounded value.
/// Matrix products read bf16 either way.
class StoredMasters {
 public:
  StoredMasters(const planner::ModelShape& shape, MasterType type);
  /// Rounds the masters before the first step, as this type stores them.
  void begin(engine::TrainingState& state);
  /// Stores the masters after a step, while none runs. Returns one count per tensor, in canonical
  /// order.
  [[nodiscard]] std::vector<UpdateCount> store(engine::TrainingState& state);

 private:
  /// A unit's masters, rounded if `type_` says so; written back if that changed any.
  [[nodiscard]] std::vector<float> stored(engine::TrainingState& state, std::size_t unit) const;

  planner::ModelShape shape_;
  MasterType type_;
  std::vector<std::vector<float>> before_;  ///< Masters of each unit, padding included.
};

}  // namespace sluice::experiments
