// Records of a run: line files, metrics, ledger.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <bit>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/run_folders/ledger.hpp"
#include "engine/run_folders/line_file.hpp"
#include "engine/run_folders/metrics.hpp"
#include "sim/error.hpp"
#include "tests/engine/scratch_folder.hpp"

namespace sluice::engine::test {
namespace {

std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

void write_lines(const std::filesystem::path& file, const std::vector<std::string>& lines) {
  std::ofstream out(file);
  for (const std::string& line : lines) out << line << '\n';
}

TEST(LineFile, AFullDiskIsAnErrorOfTheEnvironment) {
  LineFile file("/dev/full", LineFile::Open::append);
  try {
    file.append("a line");
    FAIL() << "a full disk went unnoticed";
  } catch (const EnvironmentError& error) {
    EXPECT_NE(std::string(error.what()).find("/dev/full"), std::string::npos);
  }
}

TEST(LineFile, ALineThatDoesNotFitIsTakenBack) {
  // The limit on the size of files stands for a disk with 20 bytes left: the second line is cut.
  const ScratchFolder folder;
  LineFile file(folder.path() / "lines", LineFile::Open::create);
  file.append("0123456789");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{20, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THROW(file.append("abcdefghijklmnop"), EnvironmentError);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(lines_of(folder.path() / "lines"), std::vector<std::string>{"0123456789"});
  file.append("more");
  EXPECT_EQ(lines_of(folder.path() / "lines").back(), "more");
}

TEST(Metrics, ALineHoldsTheBitsOfItsNumbers) {
  const ScratchFolder folder;
  MetricsFile metrics(folder.path() / "metrics.jsonl");
  metrics.append({.step = 3,
                  .loss = 1.0 / 3,
                  .grad_norm = 2.5,
                  .lr = 1e-4,
                  .step_time = Seconds(0.25),
                  .predicted = Seconds(0.5),
                  .tokens = 4096,
                  .useful_tokens = 4096,
                  .target_tokens = 4000});
  const auto lines = lines_of(folder.path() / "metrics.jsonl");
  ASSERT_EQ(lines.size(), 1U);
  const auto line = nlohmann::json::parse(lines[0]);
  EXPECT_EQ(line["step"], 3);
  EXPECT_EQ(line["loss"].get<double>(), 1.0 / 3);
  EXPECT_EQ(line["loss_bits"], "3fd5555555555555");
  EXPECT_EQ(line["grad_norm_bits"], "4004000000000000");
  EXPECT_EQ(line["step_s"], 0.25);
  EXPECT_EQ(line["predicted_s"], 0.5);
  EXPECT_EQ(line["tokens"], 4096);
}

TEST(Metrics, ALineHoldsWhatWasMeasuredBesides) {
  const ScratchFolder folder;
  MetricsFile metrics(folder.path() / "metrics.jsonl");
  StepMetrics line{.step = 1, .step_time = Seconds(0.5), .tokens = 100, .useful_tokens = 90};
  metrics.append(line);
  line.mfu = 0.25;
  line.busy[static_cast<std::size_t>(planner::LaneKind::h2d)] = 0.75;
  line.to_device = Bytes(1000);
  line.gpu = GpuReading{.temperature = 61, .power = 650.5, .clock = 1.98e9};
  line.val_loss = 2.5;
  metrics.append(line);
  const auto lines = lines_of(folder.path() / "metrics.jsonl");
  const auto bare = nlohmann::json::parse(lines.at(0));
  EXPECT_EQ(bare["useful_tokens_per_s"], 180);
  EXPECT_TRUE(bare["mfu"].is_null() && bare["busy"].empty());
  EXPECT_FALSE(bare.contains("gpu") || bare.contains("val_loss"));
  const auto full = nlohmann::json::parse(lines.at(1));
  EXPECT_EQ(full["mfu"], 0.25);
  EXPECT_EQ(full["busy"], nlohmann::json({{"h2d", 0.75}}));
  EXPECT_EQ(full["moved_bytes"], nlohmann::json({{"h2d", 1000}, {"d2h", 0}}));
  EXPECT_EQ(full["gpu"]["power_w"], 650.5);
  EXPECT_EQ(full["val_loss"], 2.5);
}

TEST(Metrics, LinesThatTheDiskRefusesAreWrittenOnceItTakesThem) {
  const ScratchFolder folder;
  MetricsFile metrics(folder.path() / "metrics.jsonl");
  StepMetrics line{.step = 1, .step_time = Seconds(1)};
  metrics.append(line);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{100, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  for (line.step = 2; line.step <= 4; ++line.step) metrics.append(line);
  EXPECT_THROW(metrics.flush(), EnvironmentError);
  bool refused_at_last = false;
  for (int i = 0; i < 10000 && !refused_at_last; ++i) {
    try {
      metrics.append(line);
      ++line.step;
    } catch (const EnvironmentError&) {
      refused_at_last = true;
    }
  }
  EXPECT_TRUE(refused_at_last);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  metrics.append(line);
  metrics.flush();
  const auto lines = lines_of(folder.path() / "metrics.jsonl");
  ASSERT_EQ(static_cast<std::int64_t>(lines.size()), line.step);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(nlohmann::json::parse(lines[i])["step"], i + 1);
  }
}

LedgerPrediction prediction() {
  return {.job_hash = "job",
          .plan_hash = "plan",
          .cost_model_hash = "costs",
          .numerics_id = "numerics",
          .commit = "commit",
          .step = Seconds(1),
          .step_low = Seconds(0.9),
          .step_high = Seconds(1.1)};
}

TEST(Ledger, EachLineIsChainedToTheOneBefore) {
  const ScratchFolder folder;
  const std::filesystem::path file = folder.path() / "ledger.jsonl";
  std::string first, second;
  {
    Ledger ledger(file);
    first = ledger.append(prediction());
    second = ledger.append(
        LedgerMeasurement{.prediction = first, .steps = 10, .median_step = Seconds(1.01)});
  }
  const LedgerSummary summary = verify_ledger(file);
  EXPECT_EQ(summary.lines, 2);
  EXPECT_EQ(summary.last_hash, second);
  const auto lines = lines_of(file);
  EXPECT_EQ(nlohmann::json::parse(lines[0])["previous"], std::string(64, '0'));
  EXPECT_EQ(nlohmann::json::parse(lines[1])["previous"], first);
  Ledger again(file);  // Appending later continues the chain.
  again.append(prediction());
  EXPECT_EQ(verify_ledger(file).lines, 3);
}

TEST(Ledger, APredictionStatesWhatWasKnownOfTheMachine) {
  const ScratchFolder folder;
  const std::filesystem::path file = folder.path() / "ledger.jsonl";
  Ledger ledger(file);
  LedgerPrediction known = prediction();
  known.knowledge = "full probe";
  known.machine = "a machine";
  known.job = "a job";
  ledger.append(known);
  ledger.append(prediction());
  const auto lines = lines_of(file);
  const auto first = nlohmann::json::parse(lines[0]), second = nlohmann::json::parse(lines[1]);
  EXPECT_EQ(first["knowledge"], "full probe");
  EXPECT_EQ(first["machine"], "a machine");
  EXPECT_EQ(first["job"], "a job");
  for (const char* key : {"knowledge", "machine", "job"}) EXPECT_FALSE(second.contains(key)) << key;
  EXPECT_EQ(verify_ledger(file).lines, 2);
}

TEST(Ledger, TwoWritersKeepOneChain) {
  const ScratchFolder folder;
  const auto file = folder.path() / "ledger.jsonl";
  Ledger one(file), two(file);
  const std::string first = one.append(prediction());
  const std::string second = two.append(prediction());
  one.append(LedgerMeasurement{.prediction = second, .steps = 1, .median_step = Seconds(1)});
  two.append(LedgerMeasurement{.prediction = first, .steps = 1, .median_step = Seconds(1)});
  EXPECT_EQ(verify_ledger(file).lines, 4);
}

TEST(Ledger, AChangedDroppedOrForgedLineIsFound) {
  const ScratchFolder folder;
  const std::filesystem::path file = folder.path() / "ledger.jsonl";
  {
    Ledger ledger(file);
    const std::string hash = ledger.append(prediction());
    ledger.append(LedgerMeasurement{.prediction = hash, .steps = 1, .median_step = Seconds(1)});
    ledger.append(prediction());
  }
  const auto lines = lines_of(file);
  auto changed = lines;
  changed[0].replace(changed[0].find("\"step_s\":1.0"), 12, "\"step_s\":2.0");
  write_lines(file, changed);
  EXPECT_THROW((void)verify_ledger(file), BadRequest);
  write_lines(file, {lines[0], lines[2]});
  EXPECT_THROW((void)verify_ledger(file), BadRequest);
  write_lines(file, {lines[1]});
  EXPECT_THROW((void)verify_ledger(file), BadRequest);
  write_lines(file, {lines[0], "{"});
  EXPECT_THROW((void)verify_ledger(file), BadRequest);
  write_lines(file, lines);
  EXPECT_EQ(verify_ledger(file).lines, 3);
}

TEST(Ledger, AMissingFileIsAnEmptyLedger) {
  const ScratchFolder folder;
  EXPECT_EQ(verify_ledger(folder.path() / "none").lines, 0);
}

}  // namespace
}  // namespace sluice::engine::test
