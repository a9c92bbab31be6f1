// What `eval` and `generate` are asked about: a model folder, a run, or a checkpoint of one.
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
  /// Reads the command line; `--help` prints the verb's help and throws HelpShown. Flags and, for a
  /// run, its run.yaml state machine, limits and sizes; what only training has is left aside.
  ForwardSubject(const Arguments& arguments, const ForwardVerb& verb);

  [[nodiscard]] const planner::RunArguments& request() const { return request_; }
  [[nodiscard]] planner::RunConfig& config() { return request_.config; }
  /// A device with the weights of the job's model where `graph` keeps them, read with a bar: those
  /// of the model's folder, or of the checkpoint (of a run, the newest intact one). Throws
  /// BadRequest where there are none.
  [[nodiscard]] std::unique_ptr<engine::Device> load(const planner::Job& job,
                                                     const planner::ResolvedMachine& machine,
                                                     const planner::StepGraph& graph);
  /// "FOLDER", or the checkpoint's; once the weights are read.
  [[nodiscard]] const std::string& weights_from() const { return weights_from_; }
  /// The folder with the tokenizer: the model's, of a run the one it began with.
  [[nodiscard]] std::optional<std::filesystem::path> model_folder();
  /// None where that folder has no tokenizer.json: every byte is then a token.
  [[nodiscard]] std::unique_ptr<engine::Tokenizer> open_tokenizer();

 private:
  const engine::StateSource& open_weights(const planner::ModelShape& shape);
  /// Of a run or a checkpoint; null where the model is a folder or a name.
  const engine::Checkpoint* checkpoint();

  std::string word_;
  planner::RunArguments request_;
  std::optional<std::filesystem::path> run_, checkpoint_folder_;
  std::unique_ptr<engine::Checkpoint> checkpoint_;
  std::unique_ptr<engine::ModelWeights> weights_;
  std::string weights_from_;
};

/// Throws BadRequest where `tokens`, one more than the largest, is above the model's `vocab`.
void require_vocabulary(std::int64_t tokens, std::int64_t vocab);

/// `fits: false` with the tier and remedies, as JSON or a table on stdout; the exit code.
int refuse_forward(const planner::Infeasible& infeasible, bool json);

/// The plan and the memory of forward passes as JSON fields and as text.
[[nodiscard]] sim::Json forward_json(const planner::ForwardPrediction& prediction);
[[nodiscard]] std::string forward_table(const planner::ForwardPrediction& prediction);

}  // namespace sluice::cli
