// Measures how far from optimal the plans of a search are, and how long it takes:
// search_bench [ONLY] [--jobs listed|unclipped|tight|once-slow|disk|small|SEED:COUNT]
// [EFFORT|SECONDSs...] EFFORT and SECONDS are as `sluice plan` has them (0.2, 5s); ONLY is a part
// of a job's name; SEED:COUNT draws jobs at random. Times are of the search alone, on two threads.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "planner/effort/search_effort.hpp"
#include "planner/requests/request.hpp"
#include "planner/search/remedies.hpp"
#include "sim/units_text.hpp"

namespace {

using namespace sluice::planner;

/// A job on a machine; a null limit is the machine's own.
struct Case {
  const char* model;
  const char* machine;
  const char* host = nullptr;
  const char* hbm = nullptr;
  std::int64_t seq_len = 4096, batch = 16;
  bool clips = true;
  const char* disk = nullptr;
  std::int64_t micro_batch = 1;
  Residency residency = Residency::automatic;
};

constexpr std::array kListed{
    Case{"qwen2.5-7b", "h200"}, Case{"qwen2.5-7b", "h200-64c"}, Case{"qwen2.5-14b", "h200-64c"},
    Case{"qwen2.5-32b", "h200-64c", "2 TiB"}, Case{"llama-3.1-70b", "h200-64c", "2 TiB"},
    Case{"llama-3.1-405b", "h200-64c", "8 TiB"}, Case{"qwen2.5-7b", "h100-sxm"},
    Case{"qwen2.5-14b", "h100-sxm"}, Case{"qwen2.5-32b", "h100-sxm", "2 TiB"},
    Case{"llama-3.1-70b", "h100-sxm", "2 TiB"}, Case{"llama-3.1-405b", "h100-sxm", "8 TiB"},
    Case{"qwen2.5-7b", "gh200"}, Case{"qwen2.5-14b", "gh200"},
    Case{"qwen2.5-32b", "gh200", "2 TiB"}, Case{"llama-3.1-70b", "gh200", "2 TiB"},
    Case{"qwen2.5-7b", "rtx-4090"}, Case{"llama-3.1-8b", "rtx-4090", "256 GiB"},
    Case{"qwen2.5-14b", "rtx-4090", "512 GiB"}, Case{"qwen2.5-32b", "rtx-4090", "2 TiB"},
    // Little memory on the device.
    Case{"qwen2.5-3b", "h200", nullptr, "48 GiB"}, Case{"qwen2.5-3b", "h200", nullptr, "24 GiB"},
    Case{"qwen2.5-7b", "h200", nullptr, "24 GiB"}, Case{"qwen2.5-7b", "h200", nullptr, "12 GiB"},
    // Little on the host, or none that would do.
    Case{"qwen2.5-14b", "h200"}, Case{"llama-3.1-70b", "rtx-4090"}, Case{"llama-3.1-405b", "h200"}};

constexpr Case unclipped(const char* model, const char* machine, std::int64_t seq_len,
                         std::int64_t batch, const char* host = nullptr) {
  return {model, machine, host, nullptr, seq_len, batch, false};
}

/// Drawn at random once, and kept: jobs whose gradients are not clipped.
constexpr std::array kUnclipped{unclipped("qwen2.5-14b", "h100-pcie", 8192, 16),
                                unclipped("llama-3.1-70b", "h100-sxm", 4096, 16, "1 TiB"),
                                unclipped("qwen2.5-7b", "h200", 1024, 32),
                                unclipped("llama-3.1-8b", "gh200", 1024, 64, "512 GiB"),
                                unclipped("llama-3.1-8b", "a100-80-sxm", 1024, 64, "2 TiB"),
                                unclipped("llama-3.1-70b", "rtx-3090", 8192, 4, "1 TiB"),
                                unclipped("qwen3-14b", "l40s", 8192, 4, "1 TiB"),
                                unclipped("qwen2.5-32b", "l40s", 4096, 16, "512 GiB"),
                                unclipped("qwen2.5-14b", "b200", 2048, 16, "256 GiB"),
                                unclipped("qwen3-32b", "a100-80-sxm", 4096, 16, "2 TiB"),
                                unclipped("qwen3-32b", "h200", 4096, 16, "2 TiB"),
                                unclipped("qwen2.5-14b", "b200", 8192, 16, "1 TiB"),
                                unclipped("llama-3.1-70b", "h100-sxm", 4096, 8, "2 TiB"),
                                unclipped("qwen2.5-32b", "h100-pcie", 4096, 16),
                                unclipped("qwen2.5-7b", "rtx-3090", 2048, 16),
                                unclipped("qwen3-14b", "h200", 8192, 4, "2 TiB"),
                                unclipped("qwen2.5-32b", "h100-pcie", 1024, 64, "2 TiB"),
                                unclipped("qwen2.5-32b", "rtx-5090", 1024, 32, "1 TiB"),
                                unclipped("qwen2.5-32b", "h100-pcie", 8192, 16, "1 TiB"),
                                unclipped("qwen2.5-7b", "h100-sxm", 4096, 16),
                                unclipped("qwen2.5-14b", "h200", 4096, 16),
                                unclipped("qwen2.5-32b", "h200-64c", 4096, 16, "2 TiB"),
                                unclipped("llama-3.1-70b", "h200-64c", 4096, 16, "2 TiB"),
                                unclipped("llama-3.1-8b", "rtx-4090", 4096, 16, "256 GiB"),
                                unclipped("qwen2.5-14b", "rtx-4090", 4096, 16, "512 GiB"),
                                unclipped("llama-3.1-405b", "h200-64c", 4096, 16, "8 TiB"),
                                unclipped("qwen2.5-7b", "rtx-4090", 4096, 16)};

constexpr std::array kOnDisk{
    Case{"qwen2.5-14b", "rtx-4090", "128 GiB", nullptr, 4096, 16, true, "2 TiB"},
    Case{"qwen2.5-32b", "h100-sxm", "256 GiB", nullptr, 4096, 16, true, "4 TiB"}};

/// Memory that is about the least with which anything fits, and a little more.
constexpr std::array kTight{Case{"llama-3.1-70b", "rtx-4090", "1076157 MiB"},
                            Case{"llama-3.1-70b", "rtx-4090", "1080 GiB"},
                            Case{"qwen2.5-72b", "l40s", "1091794 MiB"},
                            Case{"llama-3.1-405b", "h200", "6109376 MiB"},
                            Case{"qwen2.5-7b", "h200", nullptr, "8110 MiB"},
                            Case{"qwen2.5-7b", "h200", nullptr, "8400 MiB"}};

/// Jobs that once came out slow; tests/planner/guided/search_catalogue_test.cpp says why.
constexpr std::array kOnceSlow{
    Case{"llama-3.1-8b", "h100-sxm", nullptr, nullptr, 1024, 32},
    Case{"llama-3.1-405b", "h200-64c", "8 TiB", nullptr, 1024, 128, true, nullptr, 4},
    Case{"llama-3.1-70b", "a100-80-sxm", "1 TiB"},
    Case{"qwen2.5-7b", "h200", nullptr, "12 GiB", 1024, 32},
    Case{"qwen2.5-7b", "h200", nullptr, "9 GiB"},
    Case{"qwen2.5-1.5b", "b200", nullptr, nullptr, 1024, 16, false}};

/// Small models, most with their state on the host: few blocks and tasks, which a search treats
/// otherwise than many.
constexpr std::array kSmall{
    Case{"qwen2.5-0.5b", "h200", nullptr, nullptr, 512, 4, true, nullptr, 1, Residency::host},
    Case{"qwen2.5-0.5b", "rtx-4090", nullptr, nullptr, 1024, 8, true, nullptr, 1, Residency::host},
    Case{"qwen2.5-0.5b", "rtx-4090", nullptr, nullptr, 256, 4, false, nullptr, 1, Residency::host},
    Case{"qwen2.5-0.5b", "rtx-4070-ti-super", "5 GiB", "4 GiB", 512, 1, true, "8 GiB"},
    Case{"qwen2.5-1.5b", "h100-sxm", nullptr, nullptr, 1024, 8, true, nullptr, 2, Residency::host},
    Case{"qwen2.5-1.5b", "rtx-4090", nullptr, nullptr, 1024, 16, true, nullptr, 4, Residency::host},
    Case{"qwen2.5-1.5b", "b200", nullptr, nullptr, 1024, 16, false, nullptr, 1, Residency::host},
    Case{"qwen2.5-1.5b", "l40s", nullptr, nullptr, 1024, 8, true, nullptr, 1, Residency::host},
    Case{"qwen3-1.7b", "rtx-5090", "40 GiB", "12 GiB", 2048, 4},
    Case{"qwen3-1.7b", "rtx-a5000", "20550 MiB", "9653 MiB", 256, 32},
    Case{"qwen2.5-3b", "a100-40-pcie", nullptr, nullptr, 1024, 8},
    Case{"qwen2.5-3b", "h200", "110 GiB", "32 GiB", 2048, 8, true, nullptr, 2, Residency::host},
    Case{"qwen2.5-3b", "rtx-4090", nullptr, nullptr, 1024, 16, true, nullptr, 16, Residency::host},
    Case{"llama-3.2-1b", "rtx-3090", nullptr, nullptr, 2048, 8, false, nullptr, 1,
         Residency::host}};

/// The same seed draws the same jobs everywhere: of std:: only the engine, which is specified.
std::vector<Case> drawn(std::uint64_t seed, int count) {
  constexpr std::array kModels{"qwen2.5-7b",    "llama-3.1-8b", "qwen2.5-14b",    "qwen2.5-32b",
                               "llama-3.1-70b", "qwen2.5-72b",  "llama-3.1-405b", "qwen3-8b",
                               "qwen3-14b",     "qwen3-32b"};
  constexpr std::array kMachines{"h200",     "h100-sxm",    "gh200",   "rtx-4090",
                                 "rtx-3090", "a100-80-sxm", "l40s",    "rtx-5090",
                                 "b200",     "h100-pcie",   "h200-64c"};
  constexpr std::array<std::pair<std::int64_t, std::int64_t>, 7> kShapes{
      {{1024, 32}, {2048, 16}, {4096, 8}, {4096, 16}, {8192, 4}, {1024, 64}, {8192, 16}}};
  constexpr std::array<const char*, 5> kHosts{nullptr, "256 GiB", "512 GiB", "1 TiB", "2 TiB"};
  std::mt19937_64 random(seed);
  const auto one_of = [&random](const auto& all) { return all[random() % all.size()]; };
  std::vector<Case> all;
  for (int i = 0; i < count; ++i) {
    Case each{one_of(kModels), one_of(kMachines)};
    const auto [seq_len, batch] = one_of(kShapes);
    each.seq_len = seq_len;
    each.batch = batch;
    each.clips = random() % 2 == 0;
    each.host = one_of(kHosts);
    all.push_back(each);
  }
  return all;
}

std::vector<Case> jobs_of(const std::string& set) {
  const auto all = [](const auto& cases) { return std::vector<Case>(cases.begin(), cases.end()); };
  if (set == "listed") return all(kListed);
  if (set == "unclipped") return all(kUnclipped);
  if (set == "once-slow") return all(kOnceSlow);
  if (set == "tight") return all(kTight);
  if (set == "disk") return all(kOnDisk);
  if (set == "small") return all(kSmall);
  const std::size_t colon = set.find(':');
  return drawn(std::stoull(set.substr(0, colon)), std::stoi(set.substr(colon + 1)));
}

/// What ends a search: effort, or the clock.
struct Budget {
  double amount = 1;
  bool seconds = false;
};

/// The part of `sluice plan --seconds` that its search has.
constexpr double kSearchPart = 0.8;

Budget budget_of(const std::string& text) {
  return {std::stod(text), !text.empty() && text.back() == 's'};
}

std::string name_of(const Case& each) {
  const auto limit = [](const char* text) { return text == nullptr ? "" : text; };
  return fmt::format("{:15} {:11} {:7} {:7} {:4} x {:2} {:4} {:5}", each.model, each.machine,
                     limit(each.hbm), limit(each.host), each.seq_len, each.batch,
                     each.clips ? "" : "free", limit(each.disk));
}

RunConfig run_of(const Case& each) {
  RunConfig config;
  config.model = each.model;
  config.machine = each.machine;
  config.seq_len = each.seq_len;
  config.batch_size = each.batch;
  config.micro_batch = each.micro_batch;
  config.residency = each.residency;
  if (!each.clips) set_path(config, "optimizer.clip", "off");
  if (each.host != nullptr) set_path(config, "limits.host", each.host);
  if (each.hbm != nullptr) set_path(config, "limits.hbm", each.hbm);
  if (each.disk != nullptr) set_path(config, "limits.disk", each.disk);
  return config;
}

void report(const Case& each, const Budget& budget) {
  Request run = resolve(run_of(each));
  run.search.threads = 2;
  const auto start = std::chrono::steady_clock::now();
  if (budget.seconds) {
    run.search.effort = search_effort(1e6, "effort");
    run.search.until = Deadline::in(sluice::Seconds(kSearchPart * budget.amount));
  } else {
    run.search.effort = search_effort(budget.amount, "effort");
  }
  const std::clock_t cpu = std::clock();
  const auto found = search_or_remedy(run.predictor, run.calibration, run.search);
  const double wall =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double busy = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
  std::string result;
  if (const auto* planned = std::get_if<Planned>(&found)) {
    result = fmt::format(
        "gap {:5.2f} %  step {:11.5f} s  {} simulated exactly", 100 * planned->optimality_gap,
        sluice::to_seconds(planned->best.prediction.step).count(), planned->simulated);
  } else {
    const auto& lacking = std::get<Infeasible>(found);
    result = fmt::format("{} short by {}, {} remedies", to_string(lacking.tier),
                         format_bytes(lacking.short_by), lacking.remedies.size());
    for (const Remedy& remedy : lacking.remedies) {
      result += fmt::format("  {:.5f} s", sluice::to_seconds(remedy.step).count());
    }
  }
  fmt::print("{} {} {:4.2f}  {:5.2f} s, CPU {:5.2f} s  {}\n", name_of(each),
             budget.seconds ? "seconds" : "effort", budget.amount, wall, busy, result);
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<Budget> budgets;
  std::string only, jobs = "listed";
  for (int i = 1; i < count; ++i) {
    const std::string text = arguments[i];
    if (text == "--jobs" && i + 1 < count) {
      jobs = arguments[++i];
    } else if (text.find_first_not_of("0123456789.s") == text.npos) {
      budgets.push_back(budget_of(text));
    } else {
      only = text;
    }
  }
  if (budgets.empty()) budgets = {{0.1}, {1}};
  for (const Case& each : jobs_of(jobs)) {
    if (name_of(each).find(only) == std::string::npos) continue;
    for (const Budget& budget : budgets) report(each, budget);
  }
}
