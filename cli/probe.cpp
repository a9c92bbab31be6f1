// sluice probe: measures this machine into a profile, and keeps it for later verbs.
#include "profiler/probe/probe.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/parse.hpp"
#include "planner/profile_file.hpp"
#include "planner/store.hpp"
#include "profiler/doctor/doctor.hpp"

namespace sluice::cli {

int run_probe(const Arguments& arguments) {
  CLI::App app(
      "Measures this machine into a profile (some 25 s on two cores) and keeps it as "
      "\"here\".",
      "probe");
  bool quick = false;
  bool json = false;
  std::string file;
  app.add_flag("--quick", quick, "some 8 s, with wider deviations");
  app.add_option("-o", file, "also write the profile to this file");
  app.add_flag("--json", json, "print the profile as JSON");
  parse(app, arguments);

  const planner::Store store = planner::Store::of_user();
  const profiler::Findings findings = profiler::examine_machine({.store = store.root()});
  profiler::require_healthy(findings);
  if (!json) std::cout << profiler::findings_text(profiler::warnings(findings));
  const auto progress = [&](const std::string& part, const std::string& result) {
    if (!json) std::cout << fmt::format("{:<22}{}", part, result) << std::endl;
  };
  const planner::MachineProfile profile = profiler::probe_host(
      quick ? profiler::ProbeDepth::quick : profiler::ProbeDepth::full, progress);
  const auto kept = store.save(profile);
  if (!file.empty()) planner::write_profile(profile, file);
  if (json) {
    std::cout << planner::to_json_text(profile);
  } else {
    std::cout << "kept as \"here\": " << kept.string() << '\n';
    if (!file.empty()) std::cout << "wrote " << file << '\n';
    std::cout << "next: sluice machines show here\n";
  }
  return 0;
}

}  // namespace sluice::cli
