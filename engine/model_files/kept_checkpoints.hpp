// Which of a run's checkpoints stay.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace sluice::engine {

struct KeptCheckpoints {
  std::optional<std::int64_t> last;  ///< The newest so many; none: all.
  bool best = false;                 ///< And the one of the lowest validation loss.
};

/// Removes what ended programs left unfinished in `checkpoints`: hidden folders, written or removed
/// in part. Does nothing where there is no such folder; what cannot be removed stays.
void sweep_checkpoints(const std::filesystem::path& checkpoints);

/// Removes the checkpoints of steps up to `newest` that `kept` does not name. Each loses its name
/// at once, so that a program that is ended here leaves none that looks torn. Later steps stay:
/// they are of a run that went on from before them. Throws EnvironmentError.
void drop_checkpoints(const std::filesystem::path& checkpoints, const KeptCheckpoints& kept,
                      std::int64_t newest);

}  // namespace sluice::engine
