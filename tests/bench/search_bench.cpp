// How far from optimal plans are after how much searching, for docs/design/search.md:
// search_bench [ONLY] [EFFORT|SECONDSs...], each as --effort or --seconds has it (0.2, 5s); ONLY is
// a part of "MODEL MACHINE HBM". Times are of the search alone, on two threads.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "planner/effort/search_effort.hpp"
#include "planner/requests/run_planning.hpp"
#include "sim/units_text.hpp"

namespace {

using namespace sluice::planner;

struct Case {
  const char* model;
  const char* machine;
  const char* host = nullptr;  ///< Host memory; null: the machine's.
  const char* hbm = nullptr;   ///< Device memory; null: the machine's.
};

constexpr std::array kCases{
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

/// Limit of a search: an effort, or seconds by the clock.
struct Budget {
  double amount = 1;
  bool seconds = false;
};

/// Share of the seconds of `sluice plan --seconds` that its search gets.
constexpr double kSearchPart = 0.8;

Budget budget_of(const std::string& text) {
  return {std::stod(text), !text.empty() && text.back() == 's'};
}

std::string name_of(const Case& each) {
  return fmt::format("{:15} {:9} {:7}", each.model, each.machine,
                     each.hbm != nullptr ? each.hbm : "");
}

void report(const Case& each, const Budget& budget) {
  RunConfig config;
  config.model = each.model;
  config.machine = each.machine;
  config.seq_len = 4096;
  config.batch_size = 16;
  if (each.host != nullptr) set_path(config, "limits.host", each.host);
  if (each.hbm != nullptr) set_path(config, "limits.hbm", each.hbm);
  RunPlanning run = planning_of(config);
  run.search.threads = 2;
  const auto start = std::chrono::steady_clock::now();
  if (budget.seconds) {
    const std::chrono::duration<double> part(kSearchPart * budget.amount);
    run.search.effort = search_effort(1e6, "effort");
    run.search.until =
        start + std::chrono::duration_cast<std::chrono::steady_clock::duration>(part);
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
        "gap {:5.2f} %  step {:9.3f} s  {} simulated exactly", 100 * planned->optimality_gap,
        sluice::to_seconds(planned->best.prediction.step).count(), planned->simulated);
  } else {
    const auto& lacking = std::get<Infeasible>(found);
    result = fmt::format("{} short by {}, {} remedies", to_string(lacking.tier),
                         format_bytes(lacking.short_by), lacking.remedies.size());
  }
  fmt::print("{} {} {:4.2f}  {:5.2f} s, CPU {:5.2f} s  {}\n", name_of(each),
             budget.seconds ? "seconds" : "effort", budget.amount, wall, busy, result);
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<Budget> budgets;
  std::string only;
  for (int i = 1; i < count; ++i) {
    const std::string text = arguments[i];
    if (text.find_first_not_of("0123456789.s") == text.npos) {
      budgets.push_back(budget_of(text));
    } else {
      only = text;
    }
  }
  if (budgets.empty()) budgets = {{0.1}, {1}};
  for (const Case& each : kCases) {
    if (name_of(each).find(only) == std::string::npos) continue;
    for (const Budget& budget : budgets) report(each, budget);
  }
}
