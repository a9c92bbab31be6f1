#include "engine/model_files/kept_checkpoints.hpp"

#include <string>
#include <system_error>
#include <vector>

#include "engine/model_files/checkpoint_file.hpp"
#include "planner/catalogue/store.hpp"
#include "planner/files/whole_file.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using std::filesystem::path;

/// Validation loss of a checkpoint according to its checkpoint.json; other files are not read.
std::optional<double> loss_of(const path& folder) {
  const path manifest = folder / "checkpoint.json";
  try {
    return read_checkpoint_text(planner::read_whole_file(manifest), manifest.string())
        .facts.val_loss;
  } catch (const Error&) {
    return std::nullopt;  // The checkpoint is damaged; --resume names it.
  }
}

std::optional<std::int64_t> best_of(const path& checkpoints,
                                    const std::vector<std::int64_t>& steps) {
  std::optional<std::int64_t> best;
  double least = 0;
  for (const std::int64_t step : steps) {
    const auto loss = loss_of(checkpoints / checkpoint_name(step));
    if (!loss || (best && *loss >= least)) continue;
    best = step;
    least = *loss;
  }
  return best;
}

void remove_checkpoint(const path& checkpoints, std::int64_t step) {
  const std::string name = checkpoint_name(step);
  const path hidden = checkpoints / ("." + name + ".dropped");
  std::error_code error;
  std::filesystem::remove_all(hidden, error);
  std::filesystem::rename(checkpoints / name, hidden, error);
  if (!error) std::filesystem::remove_all(hidden, error);
  if (error) {
    throw EnvironmentError("cannot remove the old checkpoint " + (checkpoints / name).string() +
                           ": " + error.message());
  }
}

}  // namespace

void sweep_checkpoints(const path& checkpoints) {
  std::error_code error;
  std::vector<path> left;
  for (std::filesystem::directory_iterator entry(checkpoints, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool unfinished = name.ends_with(".partial") || name.ends_with(".dropped");
    if (unfinished && name.starts_with("." + checkpoint_name(0).substr(0, 5))) {
      left.push_back(entry->path());
    }
  }
  for (const path& each : left) std::filesystem::remove_all(each, error);
}

void drop_checkpoints(const path& checkpoints, const KeptCheckpoints& kept, std::int64_t newest) {
  if (!kept.last) return;
  std::vector<std::int64_t> steps = checkpoint_steps(checkpoints);
  std::erase_if(steps, [newest](std::int64_t step) { return step > newest; });
  const auto best = kept.best ? best_of(checkpoints, steps) : std::nullopt;
  for (std::size_t i = static_cast<std::size_t>(*kept.last); i < steps.size(); ++i) {
    if (steps[i] != best) remove_checkpoint(checkpoints, steps[i]);
  }
}

}  // namespace sluice::engine
