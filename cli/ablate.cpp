// sluice ablate EXPERIMENT.yaml: a baseline and factors, predicted or run, into a results folder.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/words/interrupt.hpp"
#include "cli/words/parse.hpp"
#include "planner/catalogue/store.hpp"
#include "planner/effort/search_effort.hpp"
#include "profiler/ablation/ablation.hpp"
#include "profiler/ablation/ablation_estimate.hpp"
#include "profiler/ablation/ablation_files.hpp"
#include "profiler/ablation/baseline_override.hpp"
#include "profiler/ablation/cell_ratio.hpp"
#include "profiler/ablation/known_names.hpp"
#include "profiler/doctor/doctor.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"
#include "sim/warning.hpp"

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;

struct AblateRequest {
  std::string file;
  std::vector<std::string> overrides;  ///< Changes key=value of the baseline, in the order given.
  std::string out, on;
  std::optional<std::string> share;
  /// Effort of searches, in place of the file's; none for the file's.
  std::optional<double> effort;
  bool list = false, dry_run = false, json = false;
};

AblateRequest request_of(const Arguments& arguments) {
  CLI::App app(
      "ablate EXPERIMENT.yaml [key=value ...] predicts, and on a device runs, every cell of an "
      "experiment: "
      "a baseline and factors (docs/ablations.md). Cells that do not fit stay as rows. Started "
      "again, it goes on where it stopped. report.html in the results folder has its tables and "
      "plots.",
      "ablate");
  AblateRequest request;
  std::vector<std::string> words;
  app.add_option("EXPERIMENT", words, "EXPERIMENT.yaml, then key=value overrides of its baseline")
      ->required();
  app.add_option("-o,--out", request.out, "results folder (ablations/NAME)");
  app.add_option("--on", request.on, "simulation or device, instead of what the file says");
  app.add_option("--effort", request.effort, "search so many times as long for each plan (1)");
  app.add_option("--cells", request.share, "i/n: every n-th cell, from the i-th");
  app.add_flag("--list", request.list, "list the cells, and do nothing");
  app.add_flag("--dry-run", request.dry_run,
               "show cells, hours and disk space after a quick search for each");
  app.add_flag("--json", request.json, "one JSON object (docs/schemas/ablation.schema.json)");
  parse(app, arguments);
  if (request.list && request.dry_run) {
    throw BadRequest(
        "--list: cannot be combined with --dry-run, which lists the cells, too: give one of them");
  }
  request.file = words.front();
  request.overrides.assign(words.begin() + 1, words.end());
  return request;
}

profiler::Experiment experiment_of(const AblateRequest& request) {
  profiler::Experiment experiment = profiler::read_experiment(request.file);
  for (const std::string& word : request.overrides) {
    const auto equals = word.find('=');
    if (equals == std::string::npos) {
      throw BadRequest(word + ": must be key=value, of the baseline");
    }
    override_baseline(experiment, {word.substr(0, equals), word.substr(equals + 1)});
  }
  for (const std::string& note : experiment.baseline.notes) sim::note(note);
  if (request.effort) {
    static_cast<void>(planner::search_effort(*request.effort, "--effort"));
    experiment.effort = *request.effort;
  }
  if (!request.on.empty()) experiment.on = profiler::parse_ground(request.on, "--on");
  require_known_names(experiment);
  return experiment;
}

/// Quotes a word for a POSIX shell.
std::string shell_word(const std::string& word) {
  const auto plain = [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
           std::string_view("_-./=:,+@%").find(letter) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, plain)) return word;
  std::string quoted = "'";
  for (const char letter : word) quoted += letter == '\'' ? "'\\''" : std::string(1, letter);
  return quoted + "'";
}

/// Command line that repeats the whole experiment, whichever part of the cells this process did
/// last.
std::string command_of(const Arguments& arguments) {
  std::string command = "sluice ablate";
  bool is_share = false;
  for (const std::string& word : arguments.strings) {
    const bool skipped = std::exchange(is_share, word == "--cells");
    if (skipped || is_share || word.starts_with("--cells=")) continue;
    command += " " + shell_word(word);
  }
  return command;
}

Json to_json(const profiler::CellResult& cell, const profiler::Experiment& experiment) {
  Json json = {{"name", cell.name},
               {"levels", cell.levels},
               {"status", to_string(cell.status)},
               {"fits", cell.status == profiler::CellStatus::fits},
               {"reason", cell.reason},
               {"tier", cell.tier ? Json(to_string(*cell.tier)) : Json()},
               {"short_bytes", cell.short_by.count()},
               {"step_s", Json()},
               {"step_s_low", Json()},
               {"step_s_high", Json()},
               {"tokens_per_s", Json()},
               {"plan", cell.plan},
               {"plan_hash", Json()},
               {"measured_s", Json()},
               {"measured_s_low", Json()},
               {"measured_s_high", Json()},
               {"measured_steps", cell.all_steps().size()}};
  if (cell.prediction) {
    json["step_s"] = cell.prediction->step.count();
    json["step_s_low"] = cell.prediction->low.count();
    json["step_s_high"] = cell.prediction->high.count();
    json["tokens_per_s"] = cell.prediction->tokens_per_s;
    json["plan_hash"] = cell.prediction->plan_hash;
  }
  if (const auto measured = measured_of(cell, experiment)) {
    json["measured_s"] = measured->median;
    json["measured_s_low"] = measured->low;
    json["measured_s_high"] = measured->high;
  }
  return json;
}

int list_cells(const profiler::Experiment& experiment, const profiler::CellShare& share,
               bool json) {
  Json names = Json::array();
  std::string text;
  // Models are only named here; nothing is written.
  for (const profiler::Cell& cell : cells_of(experiment, "models")) {
    if (!share.holds(cell.index)) continue;
    names.push_back(cell.name(experiment));
    text += fmt::format("{:>4}  {}\n", cell.index + 1, cell.name(experiment));
  }
  std::cout << (json ? Json{{"version", 1}, {"name", experiment.name}, {"cells", names}}.dump(1) +
                           "\n"
                     : text);
  return static_cast<int>(ExitCode::done);
}

/// Text of a time: "8.2 s", "1.3 minutes", "1.25 hours".
std::string hours_text(Seconds time) {
  const double minutes = time.count() / 60;
  if (minutes < 1) return planner::format_seconds(time);
  return minutes < 60 ? fmt::format("{:.1f} minutes", minutes)
                      : fmt::format("{:.2f} hours", minutes / 60);
}

/// Text about the experiment's duration, and about how much its steps add to it.
std::string estimate_text(const profiler::Experiment& experiment,
                          const profiler::AblationEstimate& estimate) {
  // Many longer searches end early, when no candidates are left.
  std::string text =
      fmt::format("\n{} cells, {} {} of searching for plans, ", estimate.cells.size(),
                  estimate.effort > 1 ? "at most about" : "about", hours_text(estimate.search));
  if (experiment.on == profiler::Ground::device) {
    text += fmt::format("{} of steps on the device in {} runs (each makes its weights first), ",
                        hours_text(estimate.device), estimate.starts);
  }
  text += planner::format_bytes(estimate.disk) + " of results\n";
  if (estimate.effort > 1) {
    text += fmt::format(
        "the steps above are from quick searches: those of the run last up to {:.1f} times as long "
        "and find "
        "faster plans\n",
        estimate.effort);
  }
  return text;
}

int dry_run(const profiler::Experiment& experiment, const profiler::CellShare& share, bool json) {
  const auto say = [json](const std::string& line) {
    if (!json) std::cout << line << std::endl;
  };
  const profiler::AblationEstimate estimate = estimate_ablation(experiment, share, say);
  const double hours = estimate.device.count() / 3600;
  if (json) {
    Json cells = Json::array();
    for (const auto& cell : estimate.cells) cells.push_back(to_json(cell, experiment));
    std::cout << Json{{"version", 1},
                      {"name", experiment.name},
                      {"on", to_string(experiment.on)},
                      {"cells", cells},
                      {"search_hours", estimate.search.count() / 3600},
                      {"device_hours", hours},
                      {"disk_bytes", estimate.disk.count()}}
                     .dump(1)
              << "\n";
  } else {
    std::cout << estimate_text(experiment, estimate);
  }
  return static_cast<int>(ExitCode::done);
}

}  // namespace

int run_ablate(const Arguments& arguments) {
  const AblateRequest request = request_of(arguments);
  const profiler::Experiment experiment = experiment_of(request);
  const profiler::CellShare share =
      request.share ? profiler::parse_share(*request.share) : profiler::CellShare{};
  if (request.list) return list_cells(experiment, share, request.json);
  if (request.dry_run) return dry_run(experiment, share, request.json);

  const std::filesystem::path folder = request.out.empty()
                                           ? std::filesystem::path("ablations") / experiment.name
                                           : std::filesystem::path(request.out);
  if (experiment.on == profiler::Ground::device) {
    require_healthy(profiler::examine_machine(
        {.runs = folder.parent_path(), .store = planner::Store::of_user().root()}));
  }
  const InterruptFlag interrupt;
  interrupt.will_save();  // Each finished cell is saved.
  profiler::AblationOptions options{
      .folder = folder, .share = share, .command = command_of(arguments)};
  options.interrupted = &interrupt.flag();
  if (!request.json) {
    options.say = [](const std::string& line) { std::cout << line << std::endl; };
  }
  const profiler::AblationResult result = run_ablation(experiment, options);
  if (request.json) {
    Json cells = Json::array();
    for (const auto& cell : result.cells) {
      cells.push_back(cell ? to_json(*cell, experiment) : Json());
    }
    for (std::size_t i = 0; i < cells.size() && result.missing() == 0; ++i) {
      const auto beside =
          profiler::speed_beside(profiler::first_that_fits(result.cells), *result.cells[i]);
      if (beside) cells[i]["beside_first"] = planner::ratio_json(*beside);
    }
    std::cout << Json{{"version", 1},
                      {"name", experiment.name},
                      {"on", to_string(experiment.on)},
                      {"out", folder.string()},
                      {"missing", result.missing()},
                      {"cells", cells}}
                     .dump(1)
              << "\n";
  } else if (result.missing() == 0) {
    std::cout << "\n"
              << ablation_table(experiment, result.cells) << "\nwrote " << folder.string()
              << "/{report.html,table.md,plot.svg,cells.csv,samples.csv,manifest.json}\n";
  } else {
    std::cout << fmt::format("{} of {} cells are still to be done: run it again{}\n",
                             result.missing(), result.cells.size(),
                             share.parts > 1 ? ", or the other --cells, into the same folder" : "");
  }
  return static_cast<int>(result.interrupted ? ExitCode::interrupted : ExitCode::done);
}

}  // namespace sluice::cli
