// Trains one RUN.yaml twice, with master weights in fp32 and stored in bf16, and counts the updates
// that vanish: master_study RUN.yaml [key=value ...] --out DIR (README.md beside it).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/backends/backend.hpp"
#include "engine/datasets/open_text.hpp"
#include "engine/model_files/model_folder.hpp"
#include "engine/model_files/model_weights.hpp"
#include "engine/training/session.hpp"
#include "experiments/bf16_masters/stored_masters.hpp"
#include "planner/catalogue/store.hpp"
#include "planner/files/whole_file.hpp"
#include "planner/requests/request.hpp"
#include "planner/search/search.hpp"
#include "sim/error.hpp"
#include "sim/version.hpp"

namespace {

using namespace sluice;
using experiments::MasterType;
using experiments::StoredMasters;
using experiments::UpdateCount;
namespace fs = std::filesystem;

const char* name_of(MasterType type) { return type == MasterType::fp32 ? "fp32" : "bf16"; }

struct StudyStep {
  std::int64_t step;
  engine::StepResult result;
  std::int64_t moved, vanished;
};

struct StudyRun {
  MasterType type;
  std::vector<StudyStep> steps;
  std::vector<UpdateCount> tensors;                         ///< Summed over the steps.
  std::vector<std::pair<std::int64_t, double>> validation;  ///< After which step, loss.
};

/// What both runs share: each makes its own session of it.
struct Study {
  const planner::RunConfig& config;
  const planner::Request& planning;
  const planner::PredictedStep& step;
  engine::WindowedText& text;
  std::int64_t windows;  ///< Number of windows in a validation.
};

std::unique_ptr<engine::Session> make_session(const Study& study) {
  const planner::Job& job = study.planning.predictor.job();
  auto device = engine::make_device(job, study.planning.predictor.machine(),
                                    study.step.graph.layout, study.step.prediction.plan.threads);
  const planner::RunConfig& config = study.config;
  const auto learning_rate = [&config](std::int64_t number) {
    return planner::learning_rate(config.schedule, config.optimizer.lr, number, config.steps);
  };
  const auto folder = engine::find_model_folder(config.model);
  const auto files = folder ? engine::weight_files(*folder) : std::vector<fs::path>();
  if (files.empty()) {
    const engine::InitialWeights weights(static_cast<std::uint64_t>(config.seed));
    return std::make_unique<engine::Session>(job, study.step.graph, std::move(device), study.text,
                                             learning_rate, weights);
  }
  const engine::ModelWeights weights(files, job.model);
  return std::make_unique<engine::Session>(job, study.step.graph, std::move(device), study.text,
                                           learning_rate, engine::LoadedState{.source = weights});
}

void add_up(std::vector<UpdateCount>& sums, const std::vector<UpdateCount>& counts) {
  if (sums.empty()) {
    sums = counts;
    return;
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i].moved += counts[i].moved;
    sums[i].vanished += counts[i].vanished;
  }
}

StudyRun run_with(MasterType type, const Study& study) {
  StudyRun run{.type = type, .steps = {}, .tensors = {}, .validation = {}};
  const auto session = make_session(study);
  StoredMasters masters(study.planning.predictor.job().model, type);
  masters.begin(session->state());
  const auto validate = [&](std::int64_t step) {
    const auto read = [&](std::int64_t first, auto inputs, auto targets) {
      study.text.read_validation(first, inputs, targets);
    };
    run.validation.emplace_back(step, session->evaluation().mean_loss(study.windows, read).value());
    std::printf("masters in %s, step %lld: validation loss %.5f\n", name_of(type),
                static_cast<long long>(step), run.validation.back().second);
    std::fflush(stdout);
  };
  validate(0);
  const std::int64_t steps = study.config.steps;
  const std::int64_t every = study.config.evaluate_every.value_or(0);
  // One step at a time: masters may be touched only while no step runs.
  for (std::int64_t step = 1; step <= steps; ++step) {
    engine::StepResult result;
    session->run_to(step, [&](std::int64_t, const engine::StepResult& done) { result = done; });
    const std::vector<UpdateCount> counts = masters.store(session->state());
    add_up(run.tensors, counts);
    StudyStep& row = run.steps.emplace_back(StudyStep{step, result, 0, 0});
    for (const UpdateCount& count : counts) {
      row.moved += count.moved;
      row.vanished += count.vanished;
    }
    if (step == steps || (every > 0 && step % every == 0)) validate(step);
  }
  return run;
}

double share(std::int64_t part, std::int64_t all) {
  return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0;
}

void write_tables(const std::vector<StudyRun>& runs, const fs::path& out) {
  std::string steps = "masters,step,loss,grad_norm,lr,moved,vanished\n";
  std::string tensors = "masters,tensor,parameters,moved,vanished\n";
  std::string validation = "masters,step,loss\n";
  for (const StudyRun& run : runs) {
    const char* const name = name_of(run.type);
    for (const StudyStep& row : run.steps) {
      steps += fmt::format("{},{},{},{},{},{},{}\n", name, row.step, row.result.loss,
                           row.result.grad_norm, row.result.lr, row.moved, row.vanished);
    }
    for (const UpdateCount& count : run.tensors) {
      tensors += fmt::format("{},{},{},{},{}\n", name, count.tensor, count.parameters, count.moved,
                             count.vanished);
    }
    for (const auto& [step, loss] : run.validation) {
      validation += fmt::format("{},{},{}\n", name, step, loss);
    }
  }
  planner::write_whole_file(out / "steps.csv", steps);
  planner::write_whole_file(out / "tensors.csv", tensors);
  planner::write_whole_file(out / "validation.csv", validation);
}

nlohmann::ordered_json summary_of(const std::vector<StudyRun>& runs, const Study& study) {
  const planner::Job& job = study.planning.predictor.job();
  nlohmann::ordered_json summary = {
      {"commit", std::string(commit())},
      {"job_hash", study.step.prediction.job_hash},
      {"numerics_id", engine::numerics_id(job, study.planning.predictor.machine())},
      {"data_sha256", study.text.hash()},
      {"parameters", planner::parameter_count(job.model)},
      {"steps", study.config.steps},
      {"lr", study.config.optimizer.lr},
      {"masters", nlohmann::ordered_json::object()}};
  for (const StudyRun& run : runs) {
    std::int64_t moved = 0, vanished = 0;
    for (const StudyStep& row : run.steps) {
      moved += row.moved;
      vanished += row.vanished;
    }
    summary["masters"][name_of(run.type)] = {{"updates", moved},
                                             {"vanished", vanished},
                                             {"vanished_share", share(vanished, moved)},
                                             {"loss", run.steps.back().result.loss},
                                             {"validation_loss_before", run.validation[0].second},
                                             {"validation_loss", run.validation.back().second}};
  }
  return summary;
}

void print_summary(const nlohmann::ordered_json& summary) {
  std::printf("\nmasters  updates that vanish  validation loss: before    after\n");
  for (const auto& [name, run] : summary["masters"].items()) {
    std::printf("%-7s  %19.3f %%  %23.4f %8.4f\n", name.c_str(),
                100 * run["vanished_share"].get<double>(),
                run["validation_loss_before"].get<double>(), run["validation_loss"].get<double>());
  }
}

void run(const planner::RunConfig& config, const fs::path& out, std::int64_t windows) {
  if (config.data.empty()) throw BadRequest("data is missing: set data: FILE in RUN.yaml");
  if (config.steps < 1) throw BadRequest("steps: must be at least 1");
  const planner::Request planning = planner::resolve(config);
  engine::require_backend(planning.predictor.machine().profile.device);
  const auto text = engine::open_text(config, planner::Store::of_user().root() / "tokens");
  if (planning.predictor.job().model.vocab < text->vocabulary()) {
    throw BadRequest("model: its vocabulary is smaller than that of the data");
  }
  auto found = planner::search(planning.predictor, planning.search);
  if (std::holds_alternative<planner::Infeasible>(found)) {
    throw BadRequest("no plan of this job fits this machine: lower batch_size or seq_len");
  }
  const planner::PredictedStep step = std::move(std::get<planner::Planned>(found).best);
  const Study study{.config = config,
                    .planning = planning,
                    .step = step,
                    .text = *text,
                    .windows = std::min(windows, text->validation_windows())};
  const std::vector<StudyRun> runs = {run_with(MasterType::fp32, study),
                                      run_with(MasterType::bf16, study)};
  write_tables(runs, out);
  const nlohmann::ordered_json summary = summary_of(runs, study);
  planner::write_whole_file(out / "summary.json", summary.dump(1) + "\n");
  planner::write_whole_file(out / "run.yaml", to_yaml(config));
  print_summary(summary);
}

/// What `main` does, but for errors.
int run_study(int count, char** words) {
  CLI::App app("Trains RUN.yaml with master weights in fp32, then stored in bf16.", "master_study");
  std::vector<std::string> request;
  std::string out;
  std::int64_t windows = 64;
  app.add_option("run", request, "RUN.yaml, then key=value overrides")->required();
  app.add_option("--out", out, "folder of steps.csv, tensors.csv, validation.csv, summary.json")
      ->required();
  app.add_option("--windows", windows, "of each validation, at most (64)")
      ->check(CLI::PositiveNumber);
  CLI11_PARSE(app, count, words);
  planner::RunConfig config = planner::read_run(request.front());
  for (std::size_t i = 1; i < request.size(); ++i) {
    const auto equals = request[i].find('=');
    if (equals == std::string::npos) throw BadRequest(request[i] + ": must be key=value");
    planner::set_path(config, request[i].substr(0, equals), request[i].substr(equals + 1));
  }
  run(config, out, windows);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const auto fail = [](const char* what, ExitCode code) {
    std::fprintf(stderr, "master_study: error: %s\n", what);
    return static_cast<int>(code);
  };
  try {
    return run_study(count, words);
  } catch (const Error& error) {
    return fail(error.what(), error.code());
  } catch (const std::exception& error) {
    return fail(error.what(), ExitCode::environment);
  }
}
