// `sluice predict RUN`: predicts the step of the best plan found (or of a given one).
#include <cstdio>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/shown/basis_table.hpp"
#include "cli/shown/needs_table.hpp"
#include "cli/shown/prediction_table.hpp"
#include "cli/shown/progress_line.hpp"
#include "cli/shown/scaling_page.hpp"
#include "cli/shown/scaling_table.hpp"
#include "cli/words/money_flags.hpp"
#include "cli/words/parse_run.hpp"
#include "planner/catalogue/cluster.hpp"
#include "planner/explanation/hosts_scaling.hpp"
#include "planner/files/whole_file.hpp"
#include "planner/graph/every_rank.hpp"
#include "planner/models/support.hpp"
#include "planner/policies/policy_changes.hpp"
#include "planner/requests/basis_json.hpp"
#include "planner/requests/larger_micro_batch.hpp"
#include "planner/requests/run_prediction.hpp"
#include "planner/runs/several_hosts.hpp"
#include "sim/error.hpp"
#include "sim/graph_file.hpp"
#include "sim/units_text.hpp"
#if SLUICE_HAS_train
#include "engine/backends/numerics_id.hpp"
#endif

namespace sluice::cli {
namespace {

/// Speeds that --every-rank states; empty without it.
std::vector<double> speeds_of(const planner::RunArguments& request) {
  std::vector<double> speeds;
  const auto text = request.value("--every-rank");
  if (!text) return speeds;
  if (request.has("--json")) throw BadRequest("--every-rank: is a line of text: leave --json out");
  std::istringstream words(*text);
  for (std::string word; std::getline(words, word, ',');) {
    speeds.push_back(planner::parse_number(word, "--every-rank"));
    if (!(speeds.back() > 0)) throw BadRequest("--every-rank: \"" + word + "\" must be above 0");
  }
  return speeds;
}

/// Numbers of hosts that --scaling states; empty without it. Where the run states no devices, they
/// become all that its machine's name states.
std::vector<std::int64_t> scaled_hosts(planner::RunArguments& request) {
  std::vector<std::int64_t> hosts;
  const auto text = request.value("--scaling");
  if (!text) return hosts;
  planner::RunConfig& config = request.config;
  if (config.plan || config.policy) {
    throw BadRequest(
        "--scaling: searches a plan for each number of hosts: leave plan and policy out");
  }
  std::istringstream words(*text);
  for (std::string word; std::getline(words, word, ',');) {
    const std::int64_t count = planner::parse_count(word, "--scaling");
    if (count < 1 || (!hosts.empty() && count <= hosts.back())) {
      throw BadRequest("--scaling: \"" + *text + "\" must be ascending numbers, such as 1,2,4");
    }
    hosts.push_back(count);
  }
  if (hosts.empty()) throw BadRequest("--scaling: names no number of hosts: write 1,2,4");
  if (!config.machine_overrides.contains("nic")) {
    throw BadRequest(
        "machine.nic: is missing, and --scaling joins hosts by it: give --nic, such as 8x400GbE");
  }
  if (!config.stated.contains("devices")) {
    config.devices = planner::hosts_of(config) * planner::gpus_named(config.machine);
  }
  return hosts;
}

/// The run in words, for the page of its scaling.
std::string question_of(const planner::Job& job, const planner::RunConfig& config) {
  return config.model + ", " + std::to_string(job.batch_size) + " sequences of " +
         std::to_string(job.seq_len) + " tokens a step, micro-batches of " +
         std::to_string(job.micro_batch);
}

/// The step with all ranks simulated together, each at its speed.
std::string every_rank_line(const planner::Prediction& prediction, const planner::Job& job,
                            const planner::CostModel& costs, const std::vector<double>& speeds) {
  const planner::Plan& plan = prediction.plan;
  if (plan.ranks == 1 || std::cmp_not_equal(speeds.size(), plan.ranks)) {
    throw BadRequest("--every-rank: states " + std::to_string(speeds.size()) +
                     " speeds, and the plan has " + std::to_string(plan.ranks) +
                     (plan.ranks == 1 ? " rank: name a plan of several (--plan)"
                                      : " ranks: state one for each"));
  }
  std::vector<planner::RankOfHost> ranks;
  ranks.reserve(speeds.size());
  for (const double speed : speeds) ranks.push_back({.costs = &costs, .speed = speed});
  const planner::EveryRankStep all = planner::simulate_every_rank(job, plan, ranks);
  std::string waits;
  for (const Duration wait : all.waits) {
    waits += (waits.empty() ? "" : ", ") + planner::format_seconds(to_seconds(wait));
  }
  return "every rank   " + planner::format_seconds(to_seconds(all.step)) +
         " a step; for others wait " + waits + "\n";
}

}  // namespace

int run_predict(const Arguments& arguments) {
  using Takes = planner::VerbFlag::Takes;
  planner::RunArguments request = parse_run(
      arguments, "sluice predict RUN [--json] [--graph-out G.json] [run flags]",
      {{"--json", Takes::nothing, "one JSON object (docs/schemas/predict.schema.json)"},
       {"--tokens", Takes::value,
        "number of tokens to train on, such as 10B (billion): adds the days"},
       {"--prices", Takes::value, "YAML or JSON file of dated prices: adds the cost"},
       {"--explain", Takes::nothing,
        "number by number, what the step rests on and how sure each is"},
       {"--beside", Takes::value, "the step over that of FILE, another predict --explain --json"},
       {"--every-rank", Takes::value,
        "simulate every GPU of the plan at its speed over the machine's, such as 1,1,0.9,1, and "
        "say how long they wait for each other"},
       {"--scaling", Takes::value,
        "numbers of hosts, such as 1,2,4,8: steps on each with the run's batch and with it for "
        "each "
        "host, from how many tokens a second host pays, and which NICs would do"},
       {"--html", Takes::value, "also write the curves of --scaling to FILE, as one page"},
       {"--effort", Takes::value, "search this many times as long (1)"},
       {"--fresh", Takes::nothing, "search even where an equal search was kept"},
       {"--graph-out", Takes::value, "write the step graph, for sluice sim"}},
      Terms::any);
  planner::Explained explained{.basis = request.has("--explain")};
  std::optional<planner::StepErrors> other;
  if (const auto file = request.value("--beside")) other = planner::read_basis_errors(*file);
  const std::vector<double> speeds = speeds_of(request);
  const std::vector<std::int64_t> hosts = scaled_hosts(request);
  const auto page = request.value("--html");
  if (page && hosts.empty()) {
    throw BadRequest("--html: writes the curves of --scaling: give it, such as --scaling 1,2,4");
  }
  if (page) planner::require_writable(*page);
  const std::optional<double> tokens = token_count(request);
  planner::PriceList prices;
  if (const auto file = request.value("--prices")) prices = planner::read_prices(*file);
  planner::PredictionOptions options{.policy = request.policy, .is_fresh = request.has("--fresh")};
  if (const auto effort = request.value("--effort")) {
    options.effort = planner::parse_number(*effort, "--effort");
  }
  auto outcome = planner::prediction_of(request.config, options);
  if (const auto* infeasible = std::get_if<planner::Infeasible>(&outcome)) {
    print(request.has("--json") ? to_json_text(*infeasible) : infeasible_table(*infeasible));
    return static_cast<int>(ExitCode::does_not_fit);
  }
  auto& [resolved, step, remedies, is_kept] = std::get<planner::RunPrediction>(outcome);
  const planner::Job& job = resolved.job();
  planner::Prediction& prediction = step.prediction;
#if SLUICE_HAS_train
  if (resolved.predictor.machine().profile.device == planner::DeviceKind::host) {
    prediction.numerics_id = engine::host_numerics_id();
  }
#endif
  if (const auto path = request.value("--graph-out")) {
    planner::write_whole_file(*path, sim::write_graph(step.simulated()));
  }
  const planner::RunNeeds needs = run_needs(prediction, resolved.predictor, request.config);
  const planner::RunMoney money =
      planner::money_of(prediction, planner::machine_name(request.config), tokens, prices);
  const auto padding = planner::try_padded_vocabulary(resolved, step);
  std::optional<planner::HostsScaling> scaling;
  if (!hosts.empty()) {
    const ProgressLine progress;
    const auto show = [&](const std::string& what) { progress.show(what); };
    scaling = planner::hosts_scaling(resolved, {.hosts = hosts, .progress = show});
    progress.show("");
    explained.scaling = to_json_text(*scaling);
    if (page) {
      planner::write_whole_file(*page, scaling_page(*scaling, question_of(job, request.config)));
    }
  }
  if (other) explained.beside = ratio_interval(prediction.errors, *other);
  if (request.has("--json")) {
    print(to_json_text(prediction, remedies, needs, money, padding, explained));
  } else {
    print(prediction_table(prediction, job, resolved.predictor.machine().profile.name));
    if (is_kept) print("search       kept from an equal one (--fresh searches again)\n");
    if (explained.beside) {
      print("beside       " + to_text(*explained.beside) + " times the step of " +
            *request.value("--beside") + "\n");
    }
    if (!speeds.empty()) {
      print(every_rank_line(prediction, job, resolved.predictor.costs(), speeds));
    }
    if (padding) print("vocabulary   " + to_text(*padding) + "\n");
    if (const auto larger = planner::larger_micro_batch(resolved)) {
      print("micro-batch  " + to_text(*larger) + "\n");
    }
    if (resolved.predictor.costs().profile().device == planner::DeviceKind::cuda) {
      if (const auto part = planner::unsupported_by_cuda(job.model)) {
        print("training     by the host alone: the cuda backend does not compute " + *part + "\n");
      }
    }
    print(needs_table(needs, money));
    print(plan_table(prediction.plan, job));
    if (explained.basis) print(basis_table(prediction));
    if (scaling) print(scaling_table(*scaling));
    for (const std::string& change : planner::policy_changes(request.config, job)) {
      print("policy       states " + change + "\n");
    }
    if (!prediction.fits) {
      print(request.config.policy && !job.executable()
                ? "does not fit\n"
                : "does not fit: " + remedies_table(remedies));
    }
  }
  return static_cast<int>(prediction.fits ? ExitCode::done : ExitCode::does_not_fit);
}

}  // namespace sluice::cli
