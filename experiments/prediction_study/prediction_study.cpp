// Calibrates on a few runs, predicts others, then runs them (profiler/study/study.hpp):
//   prediction_study RUNS [--ledger FILE] [--json FILE] [--commit COMMIT] [--steps N] [--bursts N]
//     [--teach-bursts N] [--parts N] [--burst-seconds S] [--warm-up-seconds S] [--pin SIZE]
//     [--record DIR | --replay DIR] [--misses N] [--passes FILE]
// RUNS: experiments/prediction_study/*.runs. Exit 2 for what cannot be read, 3 where a run does not
// fit, 4 where the backend is not there or a predicted run did not run.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "planner/catalogue/store.hpp"
#include "planner/files/whole_file.hpp"
#include "profiler/study/study.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"
#include "sim/version.hpp"

int main(int count, char** words) {
  using namespace sluice;
  CLI::App app("Calibrates on a few runs, predicts others, then runs them.", "prediction_study");
  profiler::StudySettings settings;
  std::string runs, json;
  const char* commit_of_environment = std::getenv("SLUICE_COMMIT");
  settings.commit = commit_of_environment != nullptr ? commit_of_environment : commit();
  app.add_option("runs", runs, "lines NAME calibrate|predict FLAGS...")->required();
  app.add_option("--ledger", settings.ledger, "of predictions and measurements (ledger.jsonl)");
  app.add_option("--json", json, "write the results (docs/schemas/study.schema.json)");
  app.add_option("--commit", settings.commit, "of the program");
  app.add_option("--steps", settings.steps, "a burst (8)")->check(CLI::Range(4, 1000));
  app.add_option("--bursts", settings.bursts, "of each run, all runs alternating (1)")
      ->check(CLI::Range(1, 100));
  app.add_option("--teach-bursts", settings.calibration_bursts,
                 "of each run that calibrates (as --bursts)")
      ->check(CLI::Range(1, 100));
  app.add_option("--parts", settings.parts,
                 "of the predicted runs; those that calibrate run again before each (1)")
      ->check(CLI::Range(1, 100));
  double burst = 0, warm_up = 0;
  app.add_option("--burst-seconds", burst, "fewer steps, no fewer than 4, where they take longer")
      ->check(CLI::PositiveNumber);
  app.add_option("--warm-up-seconds", warm_up, "of steps before each burst, not looked at (0)")
      ->check(CLI::NonNegativeNumber);
  std::string pin;
  app.add_option("--pin", pin, "so much host memory first, for all runs: what the largest takes");
  auto* record =
      app.add_option("--record", settings.recording, "keep every task's times in a folder");
  app.add_option("--replay", settings.replay, "run nothing: judge today's model by such a folder")
      ->excludes(record)
      ->check(CLI::ExistingDirectory);
  app.add_option("--passes", settings.passes, "append rest and time of every pass to a file");
  app.add_option("--misses", settings.misses, "name so many costs missed by most, of each run (0)")
      ->check(CLI::NonNegativeNumber);
  CLI11_PARSE(app, count, words);
  settings.burst = Seconds(burst);
  settings.warm_up = Seconds(warm_up);
  settings.say = [](const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  };
  try {
    if (!pin.empty()) settings.pin = planner::parse_bytes(pin, "--pin");
    const auto study = profiler::read_study(runs);
    const auto write = [&](const std::vector<profiler::StudyResult>& results) {
      if (!json.empty()) planner::write_whole_file(json, profiler::study_json(results, settings));
    };
    settings.measured = write;  // So that what was measured outlasts an end that comes too soon.
    const auto results = profiler::run_study(study, settings);
    std::printf("\n%s", profiler::study_text(results).c_str());
    write(results);
    const auto promised =
        std::count_if(study.begin(), study.end(), [](const auto& run) { return !run.calibrates; });
    if (!settings.replay.empty() || std::ssize(results) == promised) return 0;
    throw EnvironmentError("not all runs that were predicted ran: the lines above say why");
  } catch (const Error& error) {
    std::fprintf(stderr, "prediction_study: error: %s\n", error.what());
    return static_cast<int>(error.code());
  }
}
