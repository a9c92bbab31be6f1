// The subject of `eval` and `generate`: a model folder, a run, or a checkpoint of one.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/words/verbs.hpp"
#include "engine/execution/device.hpp"
#include "engine/model_files/checkpoint.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "planner/requests/request.hpp"
#include "planner/requests/run_arguments.hpp"
#include "planner/search/forward_search.hpp"
#include "sim/json_object.hpp"

namespace sluice::cli {

/// A verb of the form `sluice VERB MODEL|RUNDIR [flags]`.
struct ForwardVerb {
  std::string name, usage;
  std::vector<planner::VerbFlag> flags;
};

class ForwardSubject {
 public:
  /// Reads the command line; `--help` prints the verb's help and throws HelpShown. Machine, limits
  /// and sizes come from flags and, for a run, its run.yaml, whose training settings are ignored.
  ForwardSubject(const Arguments& arguments, const ForwardVerb& verb);

  [[nodiscard]] const planner::RunArguments& request() const { return request_; }
  [[nodiscard]] planner::RunConfig& config() { return request_.config; }
  /// Creates a device and loads the weights to where `graph` keeps them, showing a bar. They come
  /// from the model's folder, or from the checkpoint (of a run, the newest intact one). Throws
  /// BadRequest if there are none.
  [[nodiscard]] std::unique_ptr<engine::Device> load(const planner::Job& job,
                                                     const planner::ResolvedMachine& machine,
                                                     const planner::StepGraph& graph);
  /// Folder that the weights were loaded from: the model's or the checkpoint's.
  [[nodiscard]] const std::string& weights_from() const { return weights_from_; }
  /// Folder of the tokenizer: the model's; for a run, that of the model it began with.
  [[nodiscard]] std::optional<std::filesystem::path> model_folder();
  /// The folder's tokenizer; null if it has no file of one, and then every byte is a token. Throws
  /// BadRequest if its files are not enough for a tokenizer.
  [[nodiscard]] std::unique_ptr<engine::Tokenizer> open_tokenizer();

 private:
  const engine::StateSource& open_weights(const planner::ModelShape& shape);
  /// The subject's checkpoint; null if the subject is a model folder or name.
  const engine::Checkpoint* checkpoint();

  std::string word_;
  planner::RunArguments request_;
  std::optional<std::filesystem::path> run_, checkpoint_folder_;
  std::unique_ptr<engine::Checkpoint> checkpoint_;
  std::unique_ptr<engine::ModelWeights> weights_;
  std::string weights_from_;
};

/// Throws BadRequest if `tokens`, one more than the largest token id, is above the model's `vocab`.
void require_vocabulary(std::int64_t tokens, std::int64_t vocab);

/// Prints the refusal `fits: false` with the tier and remedies, as JSON or as a table; returns the
/// exit code.
int refuse_forward(const planner::Infeasible& infeasible, bool json);

/// Plan and memory of forward passes, as JSON fields and as text.
[[nodiscard]] sim::Json forward_json(const planner::ForwardPrediction& prediction);
[[nodiscard]] std::string forward_table(const planner::ForwardPrediction& prediction);

}  // namespace sluice::cli
