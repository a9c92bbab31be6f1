// Which of a run's checkpoints are kept, and removal of the others.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace sluice::engine {

struct KeptCheckpoints {
  std::optional<std::int64_t> last;  ///< Number of newest checkpoints to keep; none keeps all.
  /// Whether to keep the checkpoint with the lowest validation loss, too.
  bool best = false;
};

/// Removes what terminated programs left unfinished in `checkpoints`: hidden folders that were
/// partly written or partly removed. Does nothing if the folder does not exist; what cannot be
/// removed stays.
void sweep_checkpoints(const std::filesystem::path& checkpoints);

/// Removes the checkpoints of steps up to `newest` that `kept` does not name. Each is renamed
/// first, so that a program terminated here leaves none that looks damaged. Checkpoints of later
/// steps stay, because they belong to a run that continued from an earlier step. Throws
/// EnvironmentError.
void drop_checkpoints(const std::filesystem::path& checkpoints, const KeptCheckpoints& kept,
                      std::int64_t newest);

}  // namespace sluice::engine
