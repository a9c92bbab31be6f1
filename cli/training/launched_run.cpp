#include "cli/training/launched_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <thread>

#include "cli/training/launched_hosts.hpp"
#include "cli/training/shown_run.hpp"
#include "cli/training/train_words.hpp"
#include "engine/launch/gathering.hpp"
#include "engine/ranks/gloo_rank.hpp"
#include "engine/ranks/posted_failure.hpp"
#include "planner/plans/plan_file.hpp"
#include "sim/error.hpp"
#include "sim/warning.hpp"

namespace sluice::cli {
namespace {

using profiler::RunPromise;
using profiler::TrainRequest;

/// Keys under which the first rank posts its plan and, once it is made, the run's folder.
constexpr char kPlan[] = "plan", kFolder[] = "run-folder";

/// Observer of a rank other than the first, which shows nothing.
class QuietRun : public profiler::RunObserver {
 public:
  explicit QuietRun(InterruptFlag& interrupt) : interrupt_(interrupt) {}
  void will_write(const std::vector<std::filesystem::path>& files) override {
    interrupt_.will_take_back(files);
  }
  void begun() override { interrupt_.will_save(); }

 private:
  InterruptFlag& interrupt_;
};

engine::GatheringSettings gathering_settings(const engine::Variables& variables) {
  engine::GatheringSettings settings{.interface = variables("SLUICE_INTERFACE")};
  if (const auto text = variables("SLUICE_PATIENCE")) {
    const double seconds = std::strtod(text->c_str(), nullptr);
    if (!std::isfinite(seconds) || seconds < 1 || seconds > 1e6) {
      throw BadRequest("launch: SLUICE_PATIENCE is \"" + *text +
                       "\": set it to the seconds that ranks wait for each other, at least 1");
    }
    settings.patience = std::chrono::milliseconds(std::llround(seconds * 1000));
  }
  return settings;
}

void tell_of(const engine::Launch& launch, const engine::Gathering& ranks) {
  const std::set<std::string> hosts(ranks.hosts().begin(), ranks.hosts().end());
  std::string names;
  constexpr std::size_t kShown = 8;
  for (const std::string& host : hosts) {
    if (names.size() / kShown > kShown) {
      names += ", ...";
      break;
    }
    names += (names.empty() ? "" : ", ") + host;
  }
  sim::note(fmt::format("launch: {} ranks on {} host{} ({}), by {}, met at {}", launch.world.size,
                        hosts.size(), hosts.size() == 1 ? "" : "s", names, name_of(launch.by),
                        place_text(launch.place)));
}

/// The run with as many devices as there are ranks.
planner::RunConfig config_of(const planner::RunArguments& words, const engine::Launch& launch) {
  planner::RunConfig config = words.config;
  const bool said = std::ranges::find(words.stated, "devices") != words.stated.end();
  if (said && config.devices != launch.world.size) {
    throw BadRequest(fmt::format(
        "devices: is {}, and {} started {} ranks, a device each: leave devices out, or start as "
        "many",
        config.devices, name_of(launch.by), launch.world.size));
  }
  if (words.has("--rehearse")) {
    throw BadRequest(
        "launch: --rehearse runs in one process: leave the launcher out and set devices, or give "
        "--launch none");
  }
  config.devices = launch.world.size;
  config.stated.insert("devices");
  if (words.has("--strict")) config.strict = true;
  return config;
}

/// One process of a run of several.
class LaunchedRun {
 public:
  LaunchedRun(const planner::RunArguments& words, const engine::Launch& launch,
              InterruptFlag& interrupt, const FirstRankShows& shows)
      : words_(words),
        launch_(launch),
        interrupt_(interrupt),
        shows_(shows),
        settings_(gathering_settings(engine::own_variables())),
        config_(config_of(words, launch)),
        gathering_(launch, settings_) {
    require_stated_hosts(config_, gathering_);
  }
  ~LaunchedRun() { sim::set_message_listener(nullptr); }
  LaunchedRun(const LaunchedRun&) = delete;  // The listener of messages points back at it.
  LaunchedRun& operator=(const LaunchedRun&) = delete;

  int run() {
    engine::Board& board = gathering_.board();
    try {
      join_hosts(config_, gathering_);
      return is_first() ? run_as_first() : run_as_other();
    } catch (const engine::RankFailure&) {
      throw;
    } catch (const std::exception& error) {
      const int rank = launch_.world.rank;
      post_failure(board, engine::rank_failed(rank, error.what(), launch_.host));
      throw;
    }
  }

 private:
  [[nodiscard]] bool is_first() const { return launch_.world.rank == 0; }

  int run_as_first() {
    tell_of(launch_, gathering_);
    ShownTraining shown(interrupt_,
                        shows_.lines ? Progress::Where::lines : Progress::Where::nowhere);
    TrainRequest request = read_request(train_options(words_), shown);
    const auto promised = promise_of(request);
    if (const auto* infeasible = std::get_if<planner::Infeasible>(&promised)) {
      const int code = shows_.infeasible(*infeasible);
      end_others("the run does not fit");
      return code;
    }
    const auto& promise = std::get<RunPromise>(promised);
    if (request.options.dry) return shows_.dry_run(request, promise);
    gathering_.board().post(kPlan, to_json_text(to_plan_file(promise.plan.step().prediction)));
    engine::GlooRank gloo(launch_.world, gathering_.board(), gloo_settings());
    request.options.rank = rank_by(gloo);
    profiler::TrainingRun run(request, promise, shown);
    gathering_.board().post(kFolder, std::filesystem::absolute(run.trained().folder).string());
    shows_.beginning(request, promise, run.start());
    return finish(run, gloo, [&] { return shows_.result(run); });
  }

  int run_as_other() {
    profiler::TrainOptions options = train_options(words_);
    if (options.dry) return static_cast<int>(ExitCode::done);
    sim::set_message_listener([this](sim::MessageKind kind, const std::string& line) {
      // What is said of every host is said by the first rank.
      const bool of_host = gathering_.local_rank() == 0 && kind == sim::MessageKind::warning &&
                           launch_.host != gathering_.hosts().front();
      if (of_host) std::fprintf(stderr, "sluice: %s: %s\n", launch_.host.c_str(), line.c_str());
    });
    const planner::PlanFile plan = planner::plan_file_from_json(awaited(kPlan), "rank 0's plan");
    QuietRun quiet(interrupt_);
    TrainRequest request = read_request(std::move(options), quiet);
    const auto promised = promise_of(request, plan);
    if (std::holds_alternative<planner::Infeasible>(promised)) {
      throw EnvironmentError("the plan does not fit this host, and fits that of rank 0: " +
                             launch_.host + " has less memory, or is used by others");
    }
    engine::GlooRank gloo(launch_.world, gathering_.board(), gloo_settings());
    request.options.rank = rank_by(gloo);
    request.options.rank->run = awaited(kFolder);
    profiler::TrainingRun run(request, std::get<RunPromise>(promised), quiet);
    return finish(run, gloo, [&] {
      const bool interrupted = run.trained().result.interrupted;
      return static_cast<int>(interrupted ? ExitCode::interrupted : ExitCode::done);
    });
  }

  /// Trains and returns what `result` returns; a rank that ends early waits for the others, so that
  /// none takes it for lost.
  int finish(profiler::TrainingRun& run, engine::GlooRank& gloo,
             const std::function<int()>& result) {
    const bool trained = run.train(interrupt_.flag());
    gloo.control().barrier();
    if (trained) return result();
    if (is_first()) std::fputs(kNothingToSave, stderr);
    return static_cast<int>(ExitCode::interrupted);
  }

  /// The request; what the launch says of hosts is of this start, and not of the run.
  TrainRequest read_request(profiler::TrainOptions options, profiler::RunObserver& observer) {
    TrainRequest request = read_train_request(config_, std::move(options), observer, words_.policy);
    request.config.machine_overrides = words_.config.machine_overrides;
    request.config.machine_overrides.erase("hosts");
    request.config.plan_overrides = words_.config.plan_overrides;
    return request;
  }

  [[nodiscard]] engine::GlooSettings gloo_settings() const {
    return {.patience = settings_.patience,
            .address = gathering_.address(),
            .hosts = gathering_.hosts()};
  }

  [[nodiscard]] profiler::ProcessRank rank_by(engine::GlooRank& gloo) const {
    return {.links = {&gloo.control(), &gloo.fabric()},
            .here = {gathering_.local_rank(), gathering_.local_size()}};
  }

  void end_others(const std::string& reason) {
    post_failure(gathering_.board(), engine::rank_failed(0, reason, launch_.host));
  }

  /// Waits for the text that the first rank posts under `key`, for as long as that rank lives.
  std::string awaited(const std::string& key) {
    constexpr std::chrono::milliseconds kBetweenLooks{50};
    for (;;) {
      if (const auto failure = posted_failure(gathering_.board())) {
        throw engine::RankFailure(*failure);
      }
      if (auto text = gathering_.board().find(key)) return *text;
      std::this_thread::sleep_for(kBetweenLooks);
    }
  }

  const planner::RunArguments& words_;
  const engine::Launch& launch_;
  InterruptFlag& interrupt_;
  const FirstRankShows& shows_;
  engine::GatheringSettings settings_;
  planner::RunConfig config_;
  engine::Gathering gathering_;
};

}  // namespace

int train_as_rank(const planner::RunArguments& words, const engine::Launch& launch,
                  InterruptFlag& interrupt, const FirstRankShows& shows) {
  return LaunchedRun(words, launch, interrupt, shows).run();
}

}  // namespace sluice::cli
