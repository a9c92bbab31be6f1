// A checkpoint: everything a run needs to go on from a step boundary, as files that are whole or
// not there.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/model_files/model_weights.hpp"
#include "engine/model_files/state_source.hpp"
#include "engine/model_files/written_file.hpp"

namespace sluice::engine {

/// What a checkpoint says besides the state of its tensors (docs/schemas/checkpoint.schema.json).
/// The generator of initial weights and the shuffling of data have no state: both are functions of
/// `seed` and a position.
struct CheckpointFacts {
  std::int64_t step = 0;       ///< Steps that are in the weights.
  std::int64_t sequences = 0;  ///< Sequences that were read: where the data go on.
  std::int64_t steps = 0;      ///< Of the whole run, which the learning rate's schedule reads.
  std::int64_t seed = 0;
  std::string job_hash;
  std::string numerics_id;
  std::string data_sha256;
  std::string run_yaml;                               ///< Of the run, every default written out.
  std::string model;                                  ///< As the run names it.
  std::optional<std::filesystem::path> model_folder;  ///< Where it came from: tokenizer, ...
  std::optional<double> val_loss{};                   ///< At this step, where it was evaluated.
};

/// "step-N": the folder's name.
[[nodiscard]] std::string checkpoint_name(std::int64_t step);

/// Writes `checkpoints`/step-N: fp32 weights, m and v as safetensors, config.json with `config`,
/// and checkpoint.json with the SHA-256 of each. The folder gets its name once everything is on the
/// disk. `progress`, if any, is given elements as they are written, from any thread; what it throws
/// ends the writing. At most `threads` write (0: one a core). Returns the folder. Throws
/// EnvironmentError, and then leaves what was there before.
std::filesystem::path write_checkpoint(
    const std::filesystem::path& checkpoints, const CheckpointFacts& facts,
    const std::string& config, const StateSource& state,
    const std::function<void(std::int64_t elements)>& progress = nullptr, std::int64_t threads = 0);

/// A checkpoint that was written and has not changed since.
class Checkpoint : public StateSource {
 public:
  /// Compares every file with its checksum. Throws BadRequest naming the folder, the file and what
  /// is wrong with it.
  explicit Checkpoint(const std::filesystem::path& folder);

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  [[nodiscard]] const CheckpointFacts& facts() const { return facts_; }
  [[nodiscard]] const planner::ModelShape& shape() const { return shape_; }
  [[nodiscard]] const std::string& config() const { return config_; }  ///< config.json text.
  [[nodiscard]] Bytes bytes() const;

  void read(StatePart part, std::size_t unit, const planner::TensorSpec& tensor, std::int64_t first,
            std::span<float> out) const override;

 private:
  std::filesystem::path folder_;
  CheckpointFacts facts_;
  std::vector<FileRecord> files_;
  std::string config_;
  planner::ModelShape shape_;
  std::vector<std::unique_ptr<ModelWeights>> parts_;  ///< By StatePart.
};

/// Steps of which `checkpoints` holds a folder, newest first; empty where there is no such folder.
[[nodiscard]] std::vector<std::int64_t> checkpoint_steps(const std::filesystem::path& checkpoints);

/// The newest checkpoint that is intact, or none. Each newer one that is not is told to `torn`, one
/// line.
[[nodiscard]] std::unique_ptr<Checkpoint> newest_checkpoint(
    const std::filesystem::path& checkpoints, const std::function<void(const std::string&)>& torn);

}  // namespace sluice::engine
