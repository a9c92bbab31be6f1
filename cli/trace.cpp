// sluice trace RUNDIR: writes predicted and measured lanes to one file; sluice trace diff A B:
// prints a table.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>

#include "cli/words/parse.hpp"
#include "planner/catalogue/store.hpp"
#include "planner/files/whole_file.hpp"
#include "profiler/traces/comparison.hpp"
#include "profiler/traces/trace_export.hpp"
#include "sim/error.hpp"
#include "sim/trace_file.hpp"
#include "sim/trace_json.hpp"

namespace sluice::cli {
namespace {

/// Reads a trace file, or the measured trace of a run folder (its predicted one if nothing was
/// measured).
sim::Trace trace_at(const std::string& path) {
  std::filesystem::path file = path;
  if (std::filesystem::is_directory(file)) {
    file = std::filesystem::exists(file / "measured.trace") ? file / "measured.trace"
                                                            : file / "predicted.trace";
  }
  return sim::read_trace(planner::read_whole_file(file), file.string());
}

int run_diff(const std::string& a, const std::string& b, bool json) {
  const sim::Trace first = trace_at(a);
  const profiler::Comparison comparison = profiler::compare(first, trace_at(b));
  if (json) {
    std::cout << profiler::comparison_json(comparison) << '\n';
  } else {
    std::cout << "A: " << a << "\nB: " << b << "\n\n"
              << profiler::comparison_text(comparison, "A", "B");
  }
  return 0;
}

int run_export(const std::filesystem::path& folder, std::string out) {
  if (out.empty()) out = (folder / "trace.json").string();
  const profiler::TraceExport exported = profiler::export_run(folder);
  planner::write_whole_file(out, sim::write_chrome_trace(exported.traces));
  std::cout << exported.summary << "\nwrote " << out << " (opens at ui.perfetto.dev)\n";
  return 0;
}

}  // namespace

int run_trace(const Arguments& arguments) {
  CLI::App app(
      "trace RUNDIR [-o FILE] writes one Perfetto/Chrome file with predicted and measured rows, "
      "critical paths marked, and says where the step goes. trace diff A B compares two traces "
      "(files or run folders) by task kind and lane.",
      "trace");
  std::vector<std::string> words;
  std::string out;
  bool json = false;
  app.add_option("RUNDIR", words, "run folder, or: diff A B")->required();
  app.add_option("-o", out, "where to write the file (RUNDIR/trace.json)");
  app.add_flag("--json", json, "diff: one JSON object on stdout");
  parse(app, arguments);
  if (words.front() == "diff") {
    if (words.size() != 3) throw BadRequest("trace diff: give two traces or run folders, A and B");
    if (!out.empty()) throw BadRequest("trace diff: -o belongs to trace RUNDIR; diff prints");
    return run_diff(words[1], words[2], json);
  }
  if (words.size() != 1) {
    throw BadRequest("unexpected argument \"" + words[1] + "\" (trace RUNDIR, or trace diff A B)");
  }
  if (json) throw BadRequest("--json belongs to trace diff; trace RUNDIR writes a JSON file");
  return run_export(words.front(), out);
}

}  // namespace sluice::cli
