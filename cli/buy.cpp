// `sluice buy RUN`: machines ranked for a job, upgrades of one, and what its step depends on.
#include "planner/buying/buy.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

#include "cli/shown/buy_tables.hpp"
#include "cli/shown/terminal_width.hpp"
#include "cli/words/money_flags.hpp"
#include "cli/words/parse_run.hpp"
#include "planner/buying/advice_text.hpp"
#include "planner/buying/break_even.hpp"
#include "planner/buying/page.hpp"
#include "planner/files/whole_file.hpp"
#include "planner/requests/kept_answer.hpp"
#include "planner/runs/several_hosts.hpp"
#include "sim/error.hpp"
#include "sim/message_line.hpp"
#include "sim/units_text.hpp"
#include "sim/warning.hpp"

namespace sluice::cli {
namespace {

using planner::BuyReport;
using planner::BuyRequest;
using planner::BuyRow;

std::vector<std::string> split(const std::string& list, const std::string& flag) {
  std::vector<std::string> items;
  std::size_t start = 0;
  while (start <= list.size()) {
    const std::size_t comma = std::min(list.find(',', start), list.size());
    const std::string item = list.substr(start, comma - start);
    if (item.empty()) throw BadRequest(flag + ": \"" + list + "\" has an empty name");
    items.push_back(item);
    start = comma + 1;
  }
  return items;
}

/// Progress line, overwritten in place on a terminal; nothing elsewhere.
void show_progress(std::size_t done, std::size_t of, const std::string& machine) {
  if (isatty(STDERR_FILENO) == 0) return;
  if (done == of) {
    std::fputs("\r\033[K", stderr);
  } else {
    show_in_place(fmt::format("{} of {}: {}", done, of, sim::message_line(machine)));
  }
  std::fflush(stderr);
}

/// Lets the run's machine be named with its hosts, as rows are.
void name_cluster(planner::RunConfig& config) {
  if (planner::hosts_of(config) == 1) return;
  const std::string name = planner::machine_name(config);
  config = planner::on_one_host(std::move(config));
  config.machine = name;
  if (!config.stated.contains("devices")) config.devices = 1;
}

/// The request that the verb's flags state, and its budgets.
BuyRequest request_of(const planner::RunArguments& asked, std::vector<double>& budgets) {
  BuyRequest request;
  if (const auto names = asked.value("--machines")) request.machines = split(*names, "--machines");
  if (const auto numbers = asked.value("--hosts")) {
    for (const std::string& number : split(*numbers, "--hosts")) {
      request.hosts.push_back(planner::parse_count(number, "--hosts"));
      if (request.hosts.back() < 2) {
        throw BadRequest("--hosts: \"" + number +
                         "\" must be at least 2; one host is a row anyway");
      }
    }
  }
  const auto nic = asked.config.machine_overrides.find("nic");
  if (nic != asked.config.machine_overrides.end()) request.nic = nic->second;
  request.tokens = token_count(asked);
  request.days = positive_number(asked, "--days");
  if (const auto list = asked.value("--budget")) {
    budgets = dollar_amounts(*list, "--budget");
    request.budget_usd = budgets.front();
  }
  if (budgets.size() > 1 && asked.has("--json")) {
    throw BadRequest("--budget: give only one with --json");
  }
  if (const auto file = asked.value("--prices")) request.prices = planner::read_prices(*file);
  request.use.runs_per_month = positive_number(asked, "--runs-per-month");
  request.use.share = positive_number(asked, "--use");
  request.use.usd_per_kwh = positive_number(asked, "--usd-per-kwh");
  if (const auto share = asked.value("--resale")) {
    request.use.resale = planner::parse_number(*share, "--resale");
  }
  planner::check_use(request.use, "--");
  if (const auto file = asked.value("--html")) planner::require_writable(*file);
  request.use.today = std::chrono::year_month_day(
      std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()));
  // Nothing depends on the clock unless a time is asked for.
  if (const auto seconds = positive_number(asked, "--seconds")) {
    planner::answer_within(Seconds(*seconds), request);
  }
  if (budgets.size() > 1) request.other_budgets_usd.assign(budgets.begin() + 1, budgets.end());
  if (asked.has("--rent")) request.payment = planner::Payment::rent;
  request.owned = asked.has("--own");
  request.threads = std::max(1U, std::thread::hardware_concurrency());
  request.progress = show_progress;
  return request;
}

/// Text that `sluice buy` prints, and the exit code that it ends with.
struct Answer {
  std::string text;
  ExitCode code = ExitCode::done;
};

Answer answer(const planner::RunArguments& asked, BuyRequest request,
              const std::vector<double>& budgets) {
  planner::PlanFinder finder;
  BuyReport report = planner::buy(asked.config, request, finder);
  if (const auto file = asked.value("--html")) {
    planner::write_whole_file(*file, advice_page(report, request));
  }
  Answer found;
  if (budgets.size() > 1) {
    // These rows are the same for all budgets.
    for (BuyRow& row : report.rows) row.within_budget.reset();
    found.text = "On " + planner::dollars(budgets.front()) + "\n";
  }
  found.text += asked.has("--json") ? to_json_text(report) : report_text(report);
  for (std::size_t i = 1; i < budgets.size(); ++i) {
    request.budget_usd = budgets[i];
    found.text +=
        advice_text(advise(asked.config, request, finder, report.rows, report.builds), budgets[i]);
  }
  const bool any = std::ranges::any_of(report.rows, &BuyRow::fits);
  if (!any) found.code = ExitCode::does_not_fit;
  return found;
}

std::optional<std::string> key_of(const Arguments& arguments, const planner::RunArguments& asked,
                                  const BuyRequest& request, const planner::Store& store) {
  std::vector<std::string> words = arguments.strings;
  const auto today = request.use.today.value();
  words.push_back(
      fmt::format("{}-{}", static_cast<int>(today.year()), static_cast<unsigned>(today.month())));
  std::vector<std::filesystem::path> files;
  if (const auto prices = asked.value("--prices")) files.emplace_back(*prices);
  if (asked.run_file) files.push_back(*asked.run_file);
  // What this computer has free changes from one hour to the next.
  std::vector<std::string> machines = request.machines;
  const bool is_named = asked.config.machine != planner::RunConfig().machine;
  if (request.owned || is_named) machines.push_back(asked.config.machine);
  return planner::answer_key(words, asked.config, machines, files, store);
}

}  // namespace

int run_buy(const Arguments& arguments) {
  using Takes = planner::VerbFlag::Takes;
  planner::RunArguments asked = parse_run(
      arguments, "sluice buy RUN [flags]",
      {{"--machines", Takes::value, "names, separated by commas (the whole catalogue)"},
       {"--hosts", Takes::value,
        "numbers of hosts, such as 2,4: so many of each machine named and each instance too, "
        "joined "
        "by --nic"},
       {"--tokens", Takes::value, "number of tokens to train on, such as 10B (billion)"},
       {"--days", Takes::value, "days in which to train"},
       {"--budget", Takes::value,
        "US dollars; give several, separated by commas, for advice on each"},
       {"--prices", Takes::value, "YAML or JSON file of dated prices; none is ever guessed"},
       {"--runs-per-month", Takes::value, "runs of these tokens in a month, for break-even"},
       {"--use", Takes::value, "share of its time that a bought machine works, such as 0.5"},
       {"--usd-per-kwh", Takes::value, "price of electricity; none leaves it out"},
       {"--resale", Takes::value, "share of its price that a machine is sold for in the end (0)"},
       {"--seconds", Takes::value,
        "seconds within which to answer, about; without it at most 120 builds are planned"},
       {"--fresh", Takes::nothing, "ask anew even where an equal question's answer was kept"},
       {"--rent", Takes::nothing, "price by the hour"},
       {"--own", Takes::nothing, "the run's machine is yours: only orders for it cost"},
       {"--html", Takes::value, "also write the advice on the first budget to FILE, as one page"},
       {"--json", Takes::nothing, "one JSON object (docs/schemas/buy.schema.json)"}});
  name_cluster(asked.config);
  if (asked.config.devices > 1) {
    throw BadRequest(
        "devices: sluice buy plans machines of 1, 2, 4 and 8 GPUs by itself: leave it out, and "
        "name "
        "others by their number (--machines 3x-rtx-4090)");
  }
  std::vector<double> budgets;
  const BuyRequest request = request_of(asked, budgets);
  const planner::Store store = planner::Store::of_user();
  // A page is written and a time kept anew each time.
  const bool is_kept = !asked.has("--html") && !asked.has("--seconds") && !asked.has("--fresh");
  const auto key = is_kept ? key_of(arguments, asked, request, store) : std::nullopt;
  if (const auto kept = key ? planner::kept_answer(store, *key) : std::nullopt) {
    sim::note("kept from an equal question (--fresh asks anew)");
    const std::size_t code = kept->find('\n');
    std::fputs(kept->c_str() + code + 1, stdout);
    return std::atoi(kept->c_str());
  }
  const Answer found = answer(asked, request, budgets);
  std::fputs(found.text.c_str(), stdout);
  const int code = static_cast<int>(found.code);
  if (key) planner::keep_answer(store, *key, std::to_string(code) + "\n" + found.text);
  return code;
}

}  // namespace sluice::cli
