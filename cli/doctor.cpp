// sluice doctor: whether this machine can do the work; each problem is shown with the command that
// fixes it.
#include "profiler/doctor/doctor.hpp"

#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/words/parse.hpp"
#include "planner/catalogue/store.hpp"

namespace sluice::cli {

int run_doctor(const Arguments& arguments) {
  CLI::App app("Checks this machine: each line ok, warn or fail, with the command that fixes it.",
               "doctor");
  profiler::DoctorOptions options;
  options.store = planner::Store::of_user().root();
  bool json = false;
  app.add_option("--runs", options.runs, "folder where runs are written")->capture_default_str();
  app.add_flag("--json", json, "one JSON object on stdout");
  parse(app, arguments);
  const profiler::Findings findings = profiler::examine_machine(options);
  std::cout << (json ? profiler::findings_json(findings) + "\n"
                     : profiler::findings_text(findings));
  return static_cast<int>(profiler::failed(findings) ? ExitCode::environment : ExitCode::done);
}

}  // namespace sluice::cli
