// Checkpoints: everything a run needs to continue from a step boundary, in a folder that is either
// complete or absent.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/model_files/carried_record.hpp"
#include "engine/model_files/coded_moments.hpp"
#include "engine/model_files/model_weights.hpp"
#include "engine/model_files/state_source.hpp"
#include "engine/model_files/written_file.hpp"
#include "planner/models/job.hpp"

namespace sluice::engine {

/// Contents of a checkpoint besides its tensors (docs/schemas/checkpoint.schema.json). The
/// generator of initial weights and the shuffling of data have no state to save: both are functions
/// of `seed` and a position.
struct CheckpointFacts {
  std::int64_t step = 0;  ///< Number of training steps that the weights include.
  /// Number of training sequences read so far; data continue from there.
  std::int64_t sequences = 0;
  /// Number of steps of the whole run, which the learning-rate schedule depends on.
  std::int64_t steps = 0;
  std::int64_t seed = 0;
  std::string job_hash;
  std::string numerics_id;
  std::string data_sha256;
  /// The run's file with every default written out.
  std::string run_yaml;
  std::string model;  ///< Model name as the run states it.
  /// Folder that the initial weights, the tokenizer and other files came from.
  std::optional<std::filesystem::path> model_folder;
  /// Validation loss at this step, if it was evaluated.
  std::optional<double> val_loss{};
  /// Version of the jinja2 that rendered the run's conversations, if it has any.
  std::optional<std::string> jinja2{};
  /// Special token that ends the assistant's turns in the run's conversations, if it has any.
  std::optional<std::string> turn_end{};
  /// SHA-256 of the sources of the run's chat template, if it has one; the run keeps them.
  std::optional<std::string> template_sha256{};
  /// Whether the run keeps files of a tokenizer; none for runs before it was recorded.
  std::optional<bool> keeps_tokenizer{};
  /// Tensors that exports copy from `model_folder`, or from that of the run before; none where the
  /// run trains every tensor of the model.
  std::optional<CarriedRecord> carried{};
  /// Type of the moments that the run keeps (AdamWSettings::state).
  planner::StateType state = planner::StateType::fp32;
  /// Whether Muon has the blocks' matrices: these have no v, and files of v hold none for them.
  bool lacks_second_moments = false;
};

/// Folder name of a step's checkpoint: "step-N".
[[nodiscard]] std::string checkpoint_name(std::int64_t step);

/// Writes `checkpoints`/step-N: fp32 weights, m and v as safetensors (m and v in bf16, or as codes
/// and scales, where they are that; no v of Muon's matrices), config.json with `config`, and
/// checkpoint.json with the SHA-256 of each file. The folder gets its name once everything is on
/// the disk. `progress`, if any, receives numbers of elements as they are written, from any thread;
/// an exception from it aborts the writing. At most `threads` threads write (0: one per core).
/// Returns the folder. Throws EnvironmentError, leaving what was there before.
std::filesystem::path write_checkpoint(
    const std::filesystem::path& checkpoints, const CheckpointFacts& facts,
    const std::string& config, const StateSource& state,
    const std::function<void(std::int64_t elements)>& progress = nullptr, std::int64_t threads = 0);

/// An opened checkpoint whose files match their checksums.
class Checkpoint : public StateSource {
 public:
  /// Opens `folder` and compares every file with its checksum. Throws BadRequest naming the folder,
  /// the file and what is wrong with it.
  explicit Checkpoint(const std::filesystem::path& folder);

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  [[nodiscard]] const CheckpointFacts& facts() const { return facts_; }
  [[nodiscard]] const planner::ModelShape& shape() const { return shape_; }
  /// Text of the checkpoint's config.json.
  [[nodiscard]] const std::string& config() const { return config_; }
  [[nodiscard]] Bytes bytes() const;

  void read(StatePart part, std::size_t unit, const planner::TensorSpec& tensor, std::int64_t first,
            std::span<float> out) const override;

 private:
  std::filesystem::path folder_;
  CheckpointFacts facts_;
  std::vector<FileRecord> files_;
  std::string config_;
  planner::ModelShape shape_;
  std::map<StatePart, std::unique_ptr<ModelWeights>> tensors_;  ///< Parts stored by tensor.
  std::map<StatePart, std::unique_ptr<CodedMoments>> coded_;    ///< Parts stored as codes.
};

/// Steps that have a folder in `checkpoints`, newest first; empty if that folder does not exist.
[[nodiscard]] std::vector<std::int64_t> checkpoint_steps(const std::filesystem::path& checkpoints);

/// The newest intact checkpoint, or null. For each newer one that is damaged, `torn` is called with
/// one line that names the file and what is wrong with it.
[[nodiscard]] std::unique_ptr<Checkpoint> newest_checkpoint(
    const std::filesystem::path& checkpoints, const std::function<void(const std::string&)>& torn);

}  // namespace sluice::engine
