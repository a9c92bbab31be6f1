#include "profiler/row/row.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "engine/run_folders/ledger.hpp"
#include "planner/catalogue/catalogue.hpp"
#include "planner/catalogue/store.hpp"
#include "planner/machines/profile_file.hpp"
#include "planner/requests/run_arguments.hpp"
#include "sim/error.hpp"
#include "tests/engine/scratch_folder.hpp"

namespace sluice::profiler {
namespace {

using planner::Waterfall;
using planner::WaterfallTerm;

/// Request for a row of bytes-2m, seven steps, on a machine file of its own, so that no probe of
/// this computer is read.
RowRequest request(const std::filesystem::path& folder, const std::vector<std::string>& more = {}) {
  write_profile(planner::here_estimate(), folder / "machine.json");
  std::vector<std::string> arguments{
      "--model",      "bytes-2m", "--machine",     (folder / "machine.json").string(),
      "--backend",    "host",     "--seq-len",     "32",
      "--batch-size", "4",        "--micro-batch", "2",
      "--steps",      "7"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return {.name = "small",
          .config = planner::parse_run(arguments).config,
          .ledger = folder / "ledger.jsonl",
          .commit = "c0ffee"};
}

Duration total(const Waterfall& fall) {
  return std::accumulate(fall.terms.begin(), fall.terms.end(), fall.bound);
}

std::vector<nlohmann::json> lines_of(const std::filesystem::path& file) {
  std::vector<nlohmann::json> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

class Row : public testing::Test {
 protected:
  engine::test::ScratchFolder folder_;
};

TEST_F(Row, RunsTheHostBackendAndSumsToItsSteps) {
  for (const char* residency : {"auto", "host"}) {
    PromisedRow row = promise_row(request(folder_.path(), {"--residency", residency}));
    EXPECT_EQ(total(row.waterfall), row.step.prediction.step);
    const MeasuredRow measured = run_row(row);
    ASSERT_EQ(measured.steps.size(), 4u);  // Seven less the three of the warm-up.
    EXPECT_EQ(total(measured.waterfall), measured.waterfall.step);
    EXPECT_GT(measured.waterfall.step, Duration(0));
    EXPECT_LE(measured.fastest, measured.median);
    EXPECT_LE(measured.median, measured.slowest);
    EXPECT_EQ(measured.waterfall.bound, row.waterfall.bound);
    EXPECT_EQ(measured.device_arena, row.step.graph.layout.device_bytes);
    EXPECT_GT(measured.first_loss, 0);
    EXPECT_FALSE(measured.hbm_in_use.has_value() && measured.hbm_in_use->count() > (1 << 30))
        << "the host backend takes no device memory";
  }
}

TEST_F(Row, PromisesInTheLedgerBeforeItRuns) {
  RowRequest asked = request(folder_.path());
  PromisedRow row = promise_row(asked);
  EXPECT_FALSE(std::filesystem::exists(asked.ledger)) << "nothing is promised by planning";
  const MeasuredRow measured = run_row(row);
  EXPECT_EQ(engine::verify_ledger(asked.ledger).lines, 2);
  const auto lines = lines_of(asked.ledger);
  EXPECT_EQ(lines[0]["kind"], "prediction");
  EXPECT_EQ(lines[0]["commit"], "c0ffee");
  EXPECT_EQ(lines[0]["hash"], measured.promise);
  EXPECT_DOUBLE_EQ(lines[0]["step_s"], row.predicted().count());
  EXPECT_EQ(lines[1]["kind"], "measurement");
  EXPECT_EQ(lines[1]["prediction"], measured.promise);
}

TEST_F(Row, TextAndJsonSayTheSame) {
  PromisedRow row = promise_row(request(folder_.path()));
  const MeasuredRow measured = run_row(row);
  EXPECT_NE(promise_text(row).find("predicted: "), std::string::npos);
  const std::string text = row_text(row, measured);
  for (const char* part : {"measured: median", "bound ratio", "hbm: ", "loss: first", "= step",
                           "forward/block", "backward/block"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
  const auto json = nlohmann::json::parse(row_json(row, measured));
  EXPECT_EQ(json["measured"]["steps_s"].size(), 4u);
  EXPECT_DOUBLE_EQ(json["measured"]["bound_ratio"],
                   measured.median.count() / json["bound"]["bound_s"].get<double>());
  EXPECT_EQ(json["predicted"]["waterfall"]["terms_s"].size(), planner::kWaterfallTerms);
  EXPECT_EQ(json["measured"]["ledger_line"], measured.promise);
}

TEST_F(Row, RefusesWhatItCannotExplainOrFit) {
  const auto code = [&](const std::vector<std::string>& more, std::int64_t warm_up) {
    RowRequest asked = request(folder_.path(), more);
    asked.warm_up = warm_up;
    try {
      (void)promise_row(asked);
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      return error.code();
    }
    return ExitCode::done;
  };
  EXPECT_EQ(code({"--steps", "3"}, 3), ExitCode::bad_request);
  EXPECT_EQ(code({}, 1), ExitCode::bad_request);
  EXPECT_EQ(code({"--hbm", "1 MiB"}, 3), ExitCode::does_not_fit);
  EXPECT_EQ(code({"--machine", "h200"}, 3), ExitCode::bad_request) << "its backend is cuda";
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "ledger.jsonl"));
}

// Simulated steps in place of measured ones: every mean is then the predicted one.
TEST(TaskMeans, OfAStepThatRanAsSimulatedAreThePredictedOnes) {
  engine::test::ScratchFolder folder;
  const PromisedRow row = promise_row(request(folder.path()));
  const planner::StepGraph& graph = row.step.graph;
  MeasuredRun run;
  run.steps.emplace_back();
  std::size_t tasks = 0;
  for (std::size_t i = 0; i < graph.tasks_per_step; ++i) {
    const planner::TaskTimes& span = row.step.times[2 * graph.tasks_per_step + i];
    run.steps.back().push_back({span.start, span.end});
  }
  for (const TaskMean& mean :
       task_means(graph, row.job, row.machine.profile, row.step.times, run)) {
    tasks += mean.count;
    EXPECT_NEAR(mean.measured.count(), mean.predicted.count(), 1e-12) << mean.name;
    if (mean.name == "forward/block" || mean.name == "backward/block") {
      EXPECT_EQ(mean.count, 12u) << "6 blocks, 2 micro-batches";
      EXPECT_GT(mean.ceiling.count(), 0);
      EXPECT_GT(mean.flops, 0);
    }
  }
  EXPECT_EQ(tasks, graph.tasks_per_step);
}

}  // namespace
}  // namespace sluice::profiler
