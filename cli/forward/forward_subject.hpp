// Subject of `eval` and `generate`: a model folder, a run, or a checkpoint of a run.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/words/verbs.hpp"
#include "engine/chat/kept_template.hpp"
#include "engine/execution/device.hpp"
#include "engine/model_files/checkpoint.hpp"
#include "engine/model_files/tokenizer_place.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "planner/requests/request.hpp"
#include "planner/requests/run_arguments.hpp"
#include "planner/search/forward_search.hpp"
#include "sim/json_object.hpp"

namespace sluice::cli {

/// Name, usage line and own flags of a verb of the form `sluice VERB MODEL|RUNDIR [flags]`.
struct ForwardVerb {
  std::string name, usage;
  std::vector<planner::VerbFlag> flags;
};

class ForwardSubject {
 public:
  /// Reads a verb's command line; `--help` prints its help and throws HelpShown. Machine, limits
  /// and sizes come from flags and, for a run, from its run.yaml, whose training settings are
  /// ignored.
  ForwardSubject(const Arguments& arguments, const ForwardVerb& verb);

  [[nodiscard]] const planner::RunArguments& request() const { return request_; }
  [[nodiscard]] planner::RunConfig& config() { return request_.config; }
  /// The run resolved: with the checkpoint's own config.json where the subject is a run or a
  /// checkpoint. Throws BadRequest if the command line names another model beside it.
  [[nodiscard]] planner::Request resolve();
  /// The config by which data are read: with the tokenizer and the chat template of the run.
  [[nodiscard]] planner::RunConfig data_config();
  /// Tells whether the template of data_config(), whose sources these are, is another than the run
  /// trained with, where the run does not keep it.
  void tell_of_template(const engine::ChatSources& sources);
  /// Creates a device and loads the weights to where `graph` keeps them, showing a bar. They come
  /// from the model's folder, or from the checkpoint (for a run, its newest intact one). Throws
  /// BadRequest if there are none.
  [[nodiscard]] std::unique_ptr<engine::Device> load(const planner::Job& job,
                                                     const planner::ResolvedMachine& machine,
                                                     const planner::StepGraph& graph);
  /// Folder that the weights were loaded from: the model's or the checkpoint's. Empty before they
  /// are loaded.
  [[nodiscard]] const std::string& weights_from() const { return weights_from_; }
  /// Where the tokenizer lies: in the model's folder, or with the run.
  [[nodiscard]] const engine::TokenizerPlace& tokenizer_place();
  /// Folder that holds the tokenizer's files: the model's, or the run's copies. None if there is
  /// none.
  [[nodiscard]] std::optional<std::filesystem::path> model_folder() {
    return tokenizer_place().folder;
  }
  /// The tokenizer; null if every byte is a token. Throws BadRequest if a model with weights has no
  /// tokenizer.
  [[nodiscard]] std::unique_ptr<engine::Tokenizer> open_tokenizer();
  /// Whether the command line states the path, be it by another program's name for it.
  [[nodiscard]] bool states(const std::string& path) const;
  /// Facts of the checkpoint; null if the subject is a model folder or name.
  [[nodiscard]] const engine::CheckpointFacts* facts();

 private:
  const engine::StateSource& open_weights(const planner::ModelShape& shape);
  /// The checkpoint of the run or of its folder; null if the subject is a model folder or name.
  const engine::Checkpoint* checkpoint();

  std::string word_;
  planner::RunArguments request_;
  std::optional<std::filesystem::path> run_, checkpoint_folder_;
  std::unique_ptr<engine::Checkpoint> checkpoint_;
  std::optional<engine::TokenizerPlace> place_;
  std::unique_ptr<engine::ModelWeights> weights_;
  std::string weights_from_;
};

/// Throws BadRequest if `tokens`, the largest token id plus one, is above the model's `vocab`.
void require_vocabulary(std::int64_t tokens, std::int64_t vocab);

/// Prints a refusal for lack of memory (`fits: false` with tier and remedies) as JSON or as a
/// table; returns the exit code.
int refuse_forward(const planner::Infeasible& infeasible, bool json);

/// Plan and memory of forward passes, as JSON and as text.
[[nodiscard]] sim::Json forward_json(const planner::ForwardPrediction& prediction);
[[nodiscard]] std::string forward_table(const planner::ForwardPrediction& prediction);

}  // namespace sluice::cli
