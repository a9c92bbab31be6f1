#include "engine/model_files/kept_model.hpp"

#include <algorithm>

#include "engine/model_files/checkpoint_file.hpp"
#include "planner/files/whole_file.hpp"
#include "sim/error.hpp"

namespace sluice::engine {

using std::filesystem::path;

std::optional<KeptModel> kept_model_of(const path& run) {
  constexpr const char* kConfig = "config.json";
  const path checkpoints = run / "checkpoints";
  for (const std::int64_t step : checkpoint_steps(checkpoints)) {
    const path folder = checkpoints / checkpoint_name(step);
    try {
      const path manifest = folder / "checkpoint.json";
      CheckpointFile file =
          read_checkpoint_text(planner::read_whole_file(manifest), manifest.string());
      const auto config = std::ranges::find(file.files, kConfig, &FileRecord::name);
      if (config == file.files.end() || read_record(folder / kConfig) != *config) continue;
      return KeptModel{.folder = folder, .facts = std::move(file.facts)};
    } catch (const Error&) {  // It is reported where its weights are opened.
      continue;
    }
  }
  return std::nullopt;
}

}  // namespace sluice::engine
