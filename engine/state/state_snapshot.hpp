// Snapshot of a run's state in ordinary memory, to be written while training goes on.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "engine/model_files/state_source.hpp"
#include "engine/ranks/rank_links.hpp"
#include "engine/state/training_state.hpp"
#include "sim/units.hpp"

namespace sluice::engine {

/// A copy of a run's weights and moments, as they are. Its memory of 12 bytes per parameter
/// (padding included), or less with smaller moments, is fully resident from the start, so that a
/// running training cannot run out of memory when it saves.
class StateSnapshot : public StateSource {
 public:
  /// Allocates memory for states of this shape on the device of `state`, which must outlive the
  /// snapshot. Throws EnvironmentError if the system refuses the memory.
  /// A snapshot that `keeps` nothing takes no memory: its rank only gives its slices to the others.
  enum class Keeps { all, nothing };
  StateSnapshot(const planner::ModelShape& shape, const TrainingState& state,
                Keeps keeps = Keeps::all);

  /// Size of a snapshot of `shape` with moments of this type.
  [[nodiscard]] static Bytes size_of(const planner::ModelShape& shape, planner::StateType type);

  /// Copies all of `state` on all cores. Call it only while no step runs.
  void take(const TrainingState& state);
  /// Copies the state of all ranks where they are processes, each of which calls it at the same
  /// time with its `state` and its `links`. Throws RankFailure.
  void take(const TrainingState& state, const RankLinks& links);

  /// Hashes of the state copied, as those of TrainingState.
  [[nodiscard]] StateHashes hashes() const;

  void read(StatePart part, std::size_t unit, const planner::TensorSpec& tensor, std::int64_t first,
            std::span<float> out) const override;

 private:
  void gather_plane(const TrainingState& state, std::size_t unit, Plane plane,
                    const RankLinks& links);

  planner::ModelShape shape_;
  planner::StateType type_;
  std::shared_ptr<std::byte> memory_;  ///< Null where nothing is kept.
  std::vector<UnitState> units_;       ///< Pointers into `memory_`; their `copy` is unused.
  std::vector<std::int64_t> padded_;
};

}  // namespace sluice::engine
