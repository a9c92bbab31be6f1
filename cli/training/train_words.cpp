#include "cli/training/train_words.hpp"

#include "profiler/training/train_state.hpp"
#include "sim/error.hpp"

namespace sluice::cli {

std::vector<planner::VerbFlag> train_flags() {
  using Takes = planner::VerbFlag::Takes;
  return {
      {"--resume", Takes::nothing, "go on from the newest intact checkpoint of the run's folder"},
      {"--convert-state", Takes::nothing,
       "with --resume: convert m and v of a checkpoint of another optimizer.state"},
      {"--dry-run", Takes::nothing,
       "say whether it fits, its plan, how long it takes and what "
       "checkpoints cost; run nothing"},
      {"--rehearse", Takes::nothing,
       "time the true steps on a host that is too small: no data, no weights, nothing saved"},
      {"--strict", Takes::nothing, "list and refuse every row of the data that would be left out"},
      {"--no-checkpoint", Takes::nothing, "write no checkpoints (12 bytes a parameter)"},
      {"--no-hashes", Takes::nothing, "do not hash the last state"},
      {"--launch", Takes::value,
       "launcher that made this process a rank: auto (default), none, variables, torchrun, slurm, "
       "mpirun, hydra"},
      {"--rendezvous", Takes::value,
       "where ranks meet, if the launcher does not say: file:///FOLDER or tcp://HOST:PORT"},
      {"--json", Takes::nothing,
       "one JSON object (docs/schemas/train-result.schema.json, dry-run.schema.json)"},
      {"--trace-out", Takes::value, "write three consecutive measured steps"}};
}

profiler::TrainOptions train_options(const planner::RunArguments& words) {
  profiler::TrainOptions options;
  if (words.has("--resume")) options.resumed = profiler::folder_to_resume(words);
  options.converts_state = words.has("--convert-state");
  if (options.converts_state && !options.resumed) {
    throw BadRequest("--convert-state: goes with --resume alone: add it, or leave this out");
  }
  options.trace_out = words.value("--trace-out");
  options.dry = words.has("--dry-run");
  options.saves = !words.has("--no-checkpoint");
  options.hashes = !words.has("--no-hashes");
  return options;
}

}  // namespace sluice::cli
