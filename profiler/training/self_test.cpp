#include "profiler/training/self_test.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <variant>
#include <vector>

#include "planner/files/whole_file.hpp"
#include "planner/requests/run_arguments.hpp"
#include "profiler/training/train_request.hpp"
#include "profiler/training/training_run.hpp"
#include "sim/error.hpp"

namespace sluice::profiler {
namespace {

constexpr int kSteps = 4;
/// Losses of the steps of the run below in nats a token, computed by the host backend.
constexpr std::array<double, kSteps> kKnownLosses = {5.588, 4.845, 4.404, 4.344};
/// Products that round in another order change these losses by less than a tenth of this; a wrong
/// gradient changes them by more.
constexpr double kTolerance = 0.01;
/// Device memory for a run at its ease, and for one whose layers and state come and go; and the
/// host memory of both.
struct TestMemory {
  const char* ample;
  const char* little;
  const char* host;
};
constexpr TestMemory kHostMemory{.ample = "256 MiB", .little = "8 MiB", .host = "1 GiB"};
/// Libraries of a GPU take most of the little one, and pinned buffers most of the host's.
constexpr TestMemory kGpuMemory{.ample = "2 GiB", .little = "720 MiB", .host = "4 GiB"};
constexpr char kFix[] =
    "sluice doctor --deep > report.txt (then open an issue with it, and with the card's name)";

/// A folder that is removed at the end of its scope.
class TestFolder {
 public:
  [[nodiscard]] TestFolder() {
    std::error_code error;
    std::string path = (std::filesystem::temp_directory_path(error) / "sluice-XXXXXX").string();
    if (error || ::mkdtemp(path.data()) == nullptr) {
      throw EnvironmentError("no folder for temporary files: name one in TMPDIR");
    }
    path_ = path;
    planner::write_whole_file(path_ / "text.txt", text());
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;  // Removes the folder once.
  TestFolder& operator=(const TestFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  /// The text that is learnt, the same everywhere: the known losses are of it.
  static std::string text() {
    constexpr std::array kWords = {"a",     "model",    "is",  "larger", "than", "the",  "memory",
                                   "that",  "computes", "on",  "it",     "and",  "each", "layer",
                                   "comes", "when",     "its", "turn",   "comes"};
    constexpr std::size_t kCount = 1500;
    std::string text;
    for (std::size_t i = 0; i < kCount; ++i) {
      text += kWords[(i * i + i / 3) % kWords.size()];
      text += ' ';
    }
    return text;
  }

  std::filesystem::path path_;
};

/// What a run came to: the loss of each step that was made, and the hash of the weights.
struct TestResult {
  std::vector<double> losses;
  std::string weights;
};

class SelfTest {
 public:
  explicit SelfTest(planner::DeviceKind device)
      : device_(device), memory_(device == planner::DeviceKind::cuda ? kGpuMemory : kHostMemory) {}

  Findings findings() {
    const auto began = std::chrono::steady_clock::now();
    examine("training", [&] {
      whole_ = run("whole", memory_.ample, kSteps, {});
      if (const auto wrong = wrong_losses(whole_.losses)) {
        throw Error(ExitCode::environment, *wrong);
      }
      const Seconds took = std::chrono::steady_clock::now() - began;
      return fmt::format(
          "{} steps of a tiny model: loss {:.3f} to {:.3f}, as known; weights {}; "
          "{:.1f} s",
          kSteps, whole_.losses.front(), whole_.losses.back(), whole_.weights.substr(0, 12),
          took.count());
    });
    if (findings_.back().verdict == Verdict::fail) return findings_;
    examine("little memory", [&] {
      require_same_weights(run("little", memory_.little, kSteps, {}), memory_.little);
      return fmt::format("the same bits in {} of device memory as in {}", memory_.little,
                         memory_.ample);
    });
    examine("resuming", [&] {
      constexpr int kHalf = kSteps / 2;
      static_cast<void>(run("halved", memory_.ample, kHalf, {}));
      require_same_weights(run("halved", memory_.ample, kSteps, folder_.path() / "halved"),
                           "two halves");
      return std::string("the same bits after a stop and --resume");
    });
    return findings_;
  }

 private:
  /// Adds a finding that is what `check` says, or why it failed.
  void examine(const char* subject, const std::function<std::string()>& check) {
    const std::string name =
        fmt::format("{} ({})", subject, device_ == planner::DeviceKind::cuda ? "GPU" : "host");
    try {
      findings_.push_back({name, Verdict::ok, check(), std::nullopt});
    } catch (const std::exception& error) {
      findings_.push_back({name, Verdict::fail, error.what(), kFix});
    }
  }

  /// Trains in `folder`, or goes on with the run that lies in `resumed`, up to `steps`.
  TestResult run(const std::string& folder, const std::string& memory, int steps,
                 const std::optional<std::filesystem::path>& resumed) {
    std::vector<std::string> words = {"--model",      "bytes-2m",
                                      "--data",       (folder_.path() / "text.txt").string(),
                                      "--seq-len",    "64",
                                      "--batch-size", "4",
                                      "--lr",         "1e-3",
                                      "--steps",      std::to_string(steps),
                                      "--hbm",        memory,
                                      "--host",       memory_.host,
                                      "--out",        (folder_.path() / folder).string()};
    // A profile of any machine will do: a prediction is not what is tested.
    const bool cuda = device_ == planner::DeviceKind::cuda;
    for (const char* word :
         {"--backend", cuda ? "cuda" : "host", "--machine", cuda ? "rtx-4090" : "here"}) {
      words.emplace_back(word);
    }
    RunObserver observer;
    const TrainRequest request =
        read_train_request(planner::parse_run(words).config, {.resumed = resumed}, observer);
    const auto promised = promise_of(request);
    if (const auto* lacking = std::get_if<planner::Infeasible>(&promised)) {
      throw BadRequest(
          fmt::format("no plan fits {} of device memory and {} of the host's: {} is short", memory,
                      memory_.host, planner::to_string(lacking->tier)));
    }
    TrainingRun training(request, std::get<RunPromise>(promised), observer);
    const std::atomic<bool> interrupted{false};
    if (!training.train(interrupted)) throw EnvironmentError("the run made no step");
    TestResult result{.losses = {}, .weights = training.trained().weights_sha256};
    for (const engine::StepMetrics& step : training.trained().metrics) {
      result.losses.push_back(step.loss);
    }
    return result;
  }

  void require_same_weights(const TestResult& result, const std::string& how) const {
    if (result.weights == whole_.weights) return;
    throw Error(ExitCode::environment,
                fmt::format("{} end with weights {} where {} are due: results depend on the plan",
                            how, result.weights.substr(0, 12), whole_.weights.substr(0, 12)));
  }

  planner::DeviceKind device_;
  TestMemory memory_;
  TestFolder folder_;
  TestResult whole_;
  Findings findings_;
};

}  // namespace

std::optional<std::string> wrong_losses(std::span<const double> losses) {
  check(losses.size() == kKnownLosses.size(), "each step has a loss");
  for (std::size_t i = 0; i < kKnownLosses.size(); ++i) {
    if (std::abs(losses[i] - kKnownLosses[i]) <= kTolerance) continue;  // Not a number differs.
    return fmt::format(
        "step {} has loss {:.4f} where {:.3f} is known: the arithmetic of this installation is "
        "wrong",
        i + 1, losses[i], kKnownLosses[i]);
  }
  return std::nullopt;
}

Findings self_test(planner::DeviceKind device) { return SelfTest(device).findings(); }

}  // namespace sluice::profiler
