// Master weights kept in a smaller type: what becomes of the optimizer's updates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/state/training_state.hpp"
#include "planner/models/shape.hpp"

namespace sluice::experiments {

/// What master weights are stored in between steps. AdamW computes in fp32 either way.
enum class MasterType { fp32, bf16 };

/// Of one tensor.
struct UpdateCount {
  std::string tensor;
  std::int64_t parameters = 0;
  std::int64_t moved = 0;     ///< Parameters that AdamW moves: those with a first moment.
  std::int64_t vanished = 0;  ///< Of these, the ones whose stored master is what it was before.
};

/// Follows the masters of a run from step to step, and stores them in bf16 where that is asked for:
/// each is rounded to nearest, ties to even, after its update, and the next update starts from
/// there. The type that matrix products read, bf16, is the same either way.
class StoredMasters {
 public:
  StoredMasters(const planner::ModelShape& shape, MasterType type);
  /// Before the first step: masters as this type stores them.
  void begin(engine::TrainingState& state);
  /// After a step, while none runs. One count a tensor, in canonical order.
  [[nodiscard]] std::vector<UpdateCount> store(engine::TrainingState& state);

 private:
  /// A unit's masters, rounded where they are to be; written back where that changed any.
  [[nodiscard]] std::vector<float> stored(engine::TrainingState& state, std::size_t unit) const;

  planner::ModelShape shape_;
  MasterType type_;
  std::vector<std::vector<float>> before_;  ///< By unit, padding included.
};

}  // namespace sluice::experiments
