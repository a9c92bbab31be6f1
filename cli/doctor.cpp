// sluice doctor: whether this machine can do the work; each problem is shown with the command that
// fixes it.
#include "profiler/doctor/doctor.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <optional>
#include <string>

#include "cli/words/parse.hpp"
#include "engine/backends/backend.hpp"
#include "planner/catalogue/store.hpp"
#include "profiler/training/self_test.hpp"
#include "sim/error.hpp"
#include "sim/version.hpp"

namespace sluice::cli {

namespace {

/// Findings of a tiny training on the host and, where there is one that this build uses, on the
/// GPU.
profiler::Findings deep_findings() {
  using profiler::Verdict;
  profiler::Findings findings = {
      {"version", Verdict::ok, fmt::format("sluice {} ({})", version(), commit()), std::nullopt}};
  const auto add = [&findings](profiler::Findings more) {
    findings.insert(findings.end(), more.begin(), more.end());
  };
  add(profiler::self_test(planner::DeviceKind::host));
  try {
    engine::require_backend(planner::DeviceKind::cuda);
  } catch (const EnvironmentError& reason) {
    findings.push_back(
        {"training (GPU)", Verdict::ok, std::string("left out: ") + reason.what(), std::nullopt});
    return findings;
  }
  add(profiler::self_test(planner::DeviceKind::cuda));
  return findings;
}

}  // namespace

int run_doctor(const Arguments& arguments) {
  CLI::App app("Checks this machine: each line ok, warn or fail, with the command that fixes it.",
               "doctor");
  profiler::DoctorOptions options;
  options.store = planner::Store::of_user().root();
  bool json = false, deep = false;
  app.add_option("--runs", options.runs, "folder where runs are written")->capture_default_str();
  app.add_flag("--deep", deep, "also train a tiny model, and compare with what is known of it");
  app.add_flag("--json", json, "one JSON object on stdout");
  parse(app, arguments);
  profiler::Findings findings = profiler::examine_machine(options);
  if (deep) {
    const profiler::Findings more = deep_findings();
    findings.insert(findings.end(), more.begin(), more.end());
  }
  std::cout << (json ? profiler::findings_json(findings) + "\n"
                     : profiler::findings_text(findings));
  return static_cast<int>(profiler::failed(findings) ? ExitCode::environment : ExitCode::done);
}

}  // namespace sluice::cli
