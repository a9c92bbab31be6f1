#include "profiler/training/train_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "engine/chat/kept_template.hpp"
#include "engine/datasets/open_text.hpp"
#include "engine/model_files/model_folder.hpp"
#include "engine/model_files/model_origin.hpp"
#include "planner/catalogue/store.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"
#include "sim/warning.hpp"

namespace sluice::profiler {
namespace {

using std::filesystem::path;

std::string types_of(const engine::ModelWeights& weights) {
  std::string text;
  for (const std::string& type : weights.types()) text += (text.empty() ? "" : " and ") + type;
  return text;
}

void require_same(const std::string& found, const std::string& wanted, const path& checkpoint,
                  const char* what) {
  if (found == wanted) return;
  throw BadRequest("--resume: " + checkpoint.string() + " is of another " + what + " (" +
                   found.substr(0, 12) + ", here " + wanted.substr(0, 12) +
                   "): going on would not give the bits of the run that was interrupted");
}

/// Refuses another jinja2, whose texts might be others, by its name.
void require_same_jinja2(const engine::CheckpointFacts& facts, const RunIdentity& identity,
                         const path& checkpoint) {
  if (!facts.jinja2 || !identity.chat || *facts.jinja2 == identity.chat->jinja2) return;
  throw BadRequest("--resume: the conversations of " + checkpoint.string() +
                   " were rendered by jinja2 " + *facts.jinja2 + ", and here is " +
                   identity.chat->jinja2 + ": pip install jinja2==" + *facts.jinja2 +
                   " in an environment of its own, and name its python in SLUICE_PYTHON");
}

/// Refuses another text of the chat template, or another text where the template is not kept.
void require_same_template(const engine::CheckpointFacts& facts, const RunIdentity& identity,
                           const path& checkpoint) {
  if (!identity.chat) return;
  const std::string named = identity.config.chat_template.value_or("the model's folder");
  const std::string now = engine::sources_sha256(identity.chat->sources);
  if (facts.template_sha256 && *facts.template_sha256 != now) {
    throw BadRequest("--resume: " + checkpoint.string() + " is of another text of the template " +
                     named + " (" + facts.template_sha256->substr(0, 12) + ", here " +
                     now.substr(0, 12) +
                     "): put the old text back to go on, or begin a run of its own");
  }
  if (facts.template_sha256 || !identity.config.chat_template) return;
  throw BadRequest("--resume: " + checkpoint.string() + " is of another text (" +
                   facts.data_sha256.substr(0, 12) + ", here " +
                   identity.data_sha256.substr(0, 12) + "): the data, or the template " + named +
                   ", which the run keeps no copy of, have changed since it trained; put the old "
                   "text back to go on, or begin a run of its own");
}

/// Refuses other data than the run began with, however they have changed.
void require_same_data(const engine::CheckpointFacts& facts, const RunIdentity& identity,
                       const path& checkpoint) {
  if (facts.data_sha256 == identity.data_sha256) return;
  throw BadRequest("--resume: " + checkpoint.string() + " is of another text (" +
                   facts.data_sha256.substr(0, 12) + ", here " +
                   identity.data_sha256.substr(0, 12) + "): " + names_of(identity.config.data) +
                   ", or how it is read, has changed since the run began, and going on would not "
                   "give its bits; to train on it from these weights, begin a run with --model " +
                   checkpoint.string());
}

/// Refuses another kind of optimizer than the run began with, whose state another would not read.
void require_same_optimizer(const engine::CheckpointFacts& facts, const RunIdentity& identity,
                            const path& checkpoint) {
  const auto begun = planner::run_from_yaml(facts.run_yaml, checkpoint.string()).optimizer.kind;
  const auto now = identity.config.optimizer.kind;
  if (begun == now) return;
  throw BadRequest("--resume: " + checkpoint.string() + " has the state of optimizer.kind " +
                   planner::to_string(begun) + ", and this run states " + planner::to_string(now) +
                   ": set it to " + planner::to_string(begun) + ", or begin a run with --model " +
                   checkpoint.string());
}

/// Refuses another job than the run's, by the field where that is the type of the moments alone,
/// which may be converted.
void require_same_job(const engine::CheckpointFacts& facts, const RunIdentity& identity,
                      const path& folder, bool converts_state) {
  planner::Job begun = identity.job;
  begun.optimizer.state = facts.state;
  const bool other_state =
      facts.state != identity.job.optimizer.state && planner::job_hash(begun) == facts.job_hash;
  if (!other_state) return require_same(facts.job_hash, identity.job_hash, folder, "job");
  const std::string held = to_string(facts.state), wanted = to_string(identity.job.optimizer.state);
  if (!converts_state) {
    throw BadRequest("--resume: " + folder.string() + " is of optimizer.state " + held +
                     ", and the run's is " + wanted + ": add --convert-state to convert m and v, " +
                     "or set optimizer.state to " + held);
  }
  sim::note("m and v of " + folder.string() + " are converted from " + held + " to " + wanted +
            ": from here on the run has other bits than one that keeps " + held);
}

void require_continues(const engine::Checkpoint& checkpoint, const RunIdentity& identity,
                       bool converts_state) {
  const engine::CheckpointFacts& facts = checkpoint.facts();
  const path& folder = checkpoint.folder();
  require_same_optimizer(facts, identity, folder);
  require_same_job(facts, identity, folder, converts_state);
  require_same(facts.numerics_id, identity.numerics_id, folder, "numerics id");
  if (facts.data_sha256 != identity.data_sha256_of_all_windows) {
    require_same_jinja2(facts, identity, folder);
    if (facts.data_sha256 != identity.data_sha256) require_same_template(facts, identity, folder);
    require_same_data(facts, identity, folder);
  }
  require_same(std::to_string(facts.seed), std::to_string(identity.config.seed), folder, "seed");
  if (facts.step >= identity.config.steps) {
    throw BadRequest("--resume: the run has done its " + std::to_string(facts.step) +
                     " steps: raise steps to go on");
  }
}

std::unique_ptr<engine::Checkpoint> checkpoint_of(const path& checkpoints) {
  std::string first_torn;
  auto found = engine::newest_checkpoint(checkpoints, [&first_torn](const std::string& reason) {
    if (first_torn.empty()) first_torn = reason;
    sim::warn("skipping a damaged checkpoint: " + reason);
  });
  if (!found && !first_torn.empty()) {
    throw BadRequest("--resume: no checkpoint in " + checkpoints.string() +
                     " is intact: " + first_torn);
  }
  return found;
}

/// Whether a run that recorded the hash `begun` has these data.
bool has_hash(const engine::WindowedText& text, const std::string& begun) {
  return text.hash() == begun || text.hash_of_all_windows() == begun;
}

}  // namespace

std::string RunStart::description(std::int64_t seed) const {
  if (checkpoint) {
    return fmt::format("going on after step {}: {} of {}\n", checkpoint->facts().step,
                       planner::format_bytes(checkpoint->bytes()), checkpoint->folder().string());
  }
  if (weights) {
    return fmt::format("weights: {} of {} in {} file{} of {}\n",
                       planner::format_bytes(weights->bytes()), types_of(*weights),
                       weights->files(), weights->files() == 1 ? "" : "s", weights_from);
  }
  const std::string why = model_folder ? model_folder->string() + " holds no weights"
                                       : std::string("the model is only a shape");
  return fmt::format("weights: random, of seed {}: {}\n", seed, why);
}

path folder_to_resume(const planner::RunArguments& request) {
  if (request.run_file) {
    if (std::filesystem::is_directory(*request.run_file)) return *request.run_file;
    const path parent = request.run_file->parent_path();
    const bool out_given = std::ranges::find(request.stated, "out") != request.stated.end();
    // The `out` of a run's own file may be relative to another folder.
    const bool own = !out_given && std::filesystem::exists(parent / "ledger.jsonl");
    if (request.run_file->filename() == "run.yaml" && (own || !request.config.out)) {
      return parent.empty() ? path(".") : parent;
    }
  }
  if (request.config.out) return *request.config.out;
  throw BadRequest("--resume: which run? Give its folder (sluice train RUNDIR --resume), or out");
}

RunStart find_start(const RunIdentity& identity, const std::optional<path>& resumed,
                    bool converts_state) {
  RunStart start{
      .checkpoint = nullptr, .weights = nullptr, .model_folder = {}, .weights_from = "random"};
  if (resumed) start.checkpoint = checkpoint_of(*resumed / "checkpoints");
  if (start.checkpoint) {
    require_continues(*start.checkpoint, identity, converts_state);
    start.weights_from = start.checkpoint->folder().string();
    start.model_folder = start.checkpoint->facts().model_folder;
    start.carried = start.checkpoint->facts().carried;
    return start;
  }
  engine::require_weights_of_id(identity.config.model);
  start.model_folder = engine::find_model_folder(identity.config.model);
  if (!start.model_folder) return start;
  start.model_folder = std::filesystem::absolute(*start.model_folder);
  const std::vector<path> files = engine::weight_files(*start.model_folder);
  if (files.empty()) return start;
  start.weights = std::make_unique<engine::ModelWeights>(files, identity.job.model);
  start.weights_from = start.model_folder->string();
  start.carried = engine::carried_from(*start.model_folder, start.weights->tensors());
  if (const auto unused = start.weights->unused_head()) sim::warn(*unused);
  if (const auto carried = start.weights->not_trained()) sim::note(*carried);
  return start;
}

std::unique_ptr<engine::WindowedText> text_of(const planner::RunConfig& config,
                                              const AmountShown& show) {
  return engine::open_text(config, planner::Store::of_user().root() / "tokens", show);
}

std::unique_ptr<engine::WindowedText> text_as_begun(planner::RunConfig& config,
                                                    const std::string& begun,
                                                    const AmountShown& show) {
  using planner::DataReading;
  std::unique_ptr<engine::WindowedText> present;
  std::exception_ptr refused;
  try {
    present = text_of(config, show);
    if (config.data_reading || has_hash(*present, begun)) return present;
  } catch (const BadRequest&) {
    if (config.data_reading) throw;
    refused = std::current_exception();  // It may be read as it was.
  }
  planner::RunConfig earlier = config;
  earlier.data_reading = DataReading::first;
  try {
    auto text = text_of(earlier, show);
    if (has_hash(*text, begun)) {
      config.data_reading = DataReading::first;
      sim::note(
          "data: are read as when the run began (data_reading: 1), before tokens beside "
          "tokenizer.json, absent fields of tables and tools in shipped templates were read as "
          "now; a run of its own reads them as now");
      return text;
    }
  } catch (const BadRequest&) {
    // What the present reading says holds.
  }
  if (refused) std::rethrow_exception(refused);
  return present;
}

std::unique_ptr<engine::Session> start_session(const RunStart& start, const RunIdentity& identity,
                                               const planner::StepGraph& graph,
                                               engine::SessionRanks ranks,
                                               engine::TokenSource& tokens,
                                               engine::StepRunner::LearningRate learning_rate,
                                               const engine::DiskPlace& place, RunObserver& told) {
  using engine::LoadedState;
  const char* const initial = start.weights ? "loading weights" : "making the first weights";
  const AmountShown show = told.amount(start.checkpoint ? "reading the checkpoint" : initial);
  const auto session_from = [&](const auto& state) {
    auto session = std::make_unique<engine::Session>(identity.job, graph, std::move(ranks), tokens,
                                                     learning_rate, state, place);
    session->round_by(static_cast<std::uint64_t>(identity.config.seed));
    return session;
  };
  if (start.checkpoint) {
    auto session = session_from(LoadedState{
        .source = *start.checkpoint, .moments = LoadedState::Moments::loaded, .progress = show});
    session->continue_after(start.step());
    return session;
  }
  if (start.weights) {
    return session_from(LoadedState{.source = *start.weights, .progress = show});
  }
  return session_from(engine::InitialWeights(static_cast<std::uint64_t>(identity.config.seed),
                                             /*repeated=*/false, show));
}

void tell_of_page_cache(const engine::DiskStore& disk) {
  if (disk.direct()) return;
  sim::warn(
      "disk at " + disk.folder().string() +
      ": its file system refuses O_DIRECT, so what lies there goes through the page cache: "
      "one more copy of every byte, and memory that the plan does not count; name a folder on "
      "another file system with --disk-path");
}

engine::CheckpointFacts facts_of(const RunStart& start, const RunIdentity& identity,
                                 std::int64_t step, std::optional<double> val_loss) {
  return {.step = step,
          .sequences = step * identity.job.batch_size,
          .steps = identity.config.steps,
          .seed = identity.config.seed,
          .job_hash = identity.job_hash,
          .numerics_id = identity.numerics_id,
          .data_sha256 = identity.data_sha256,
          .run_yaml = to_yaml(identity.config),
          .model = identity.config.model,
          .model_folder = start.model_folder,
          .val_loss = val_loss,
          .jinja2 = identity.chat ? std::optional(identity.chat->jinja2) : std::nullopt,
          .turn_end = identity.chat ? identity.chat->turn_end : std::nullopt,
          .template_sha256 = identity.chat
                                 ? std::optional(engine::sources_sha256(identity.chat->sources))
                                 : std::nullopt,
          .keeps_tokenizer = identity.keeps_tokenizer,
          .carried = start.carried,
          .state = identity.job.optimizer.state,
          .lacks_second_moments = identity.job.optimizer.kind == planner::OptimizerKind::muon};
}

}  // namespace sluice::profiler
