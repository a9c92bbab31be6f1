// A copy of a run's state in ordinary memory, to be written while training goes on.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "engine/model_files/state_source.hpp"
#include "engine/state/training_state.hpp"
#include "sim/units.hpp"

namespace sluice::engine {

/// Room for 12 bytes a parameter (padding included), all of it present from the start, so that a
/// run that has begun cannot run out of memory when it saves.
class StateSnapshot : public StateSource {
 public:
  /// Of states of this shape on the device of `state`, which must outlive it. Throws
  /// EnvironmentError where the system refuses the memory.
  StateSnapshot(const planner::ModelShape& shape, const TrainingState& state);

  /// Bytes that a snapshot of `shape` takes.
  [[nodiscard]] static Bytes size_of(const planner::ModelShape& shape);

  /// Copies all of `state` on all cores. Only while no step runs.
  void take(const TrainingState& state);

  void read(StatePart part, std::size_t unit, const planner::TensorSpec& tensor, std::int64_t first,
            std::span<float> out) const override;

 private:
  std::shared_ptr<std::byte> memory_;
  std::vector<UnitState> units_;  ///< Into `memory_`; no copies.
  std::vector<std::int64_t> padded_;
};

}  // namespace sluice::engine
