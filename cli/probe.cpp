// sluice probe: measures this machine into a profile, and keeps it for later verbs.
#include "profiler/probe/probe.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/words/parse.hpp"
#include "engine/backends/backend.hpp"
#include "engine/cuda/runtime/usable.hpp"
#include "planner/catalogue/store.hpp"
#include "planner/files/choice.hpp"
#include "planner/files/whole_file.hpp"
#include "planner/machines/profile_file.hpp"
#include "profiler/doctor/doctor.hpp"
#include "profiler/probe/probe_cuda.hpp"
#include "sim/json_object.hpp"
#include "sim/units_text.hpp"

namespace sluice::cli {
namespace {

using planner::DeviceKind;

struct ProbeArguments {
  bool quick = false;
  bool json = false;
  std::string backend, file, grid, fit;
  profiler::ProbedDisk disk;
  double disk_seconds = 0;
  std::string disk_size;
  std::int64_t devices = 1;
};

/// The backend that the arguments name, else cuda if there is a GPU, else host.
DeviceKind backend_of(const ProbeArguments& arguments) {
  if (!arguments.backend.empty()) {
    const DeviceKind kind =
        planner::parse_choice(arguments.backend, "--backend", {DeviceKind::host, DeviceKind::cuda});
    engine::require_backend(kind);
    return kind;
  }
  const bool usable = !engine::cuda::why_unusable(engine::cuda::query_devices());
  return usable ? DeviceKind::cuda : DeviceKind::host;
}

void print_fit(const profiler::ContentionFit& fit) {
  std::cout << fmt::format(
                   "contention model, each half of the points predicted from the other (targets: "
                   "mean {:.0f} %, worst {:.0f} %):\n",
                   100 * profiler::kContentionMean, 100 * profiler::kContentionWorst)
            << profiler::residuals_text(fit);
}

/// Handles --fit-grid: fits once more what `--grid` wrote earlier.
int fit_again(const ProbeArguments& arguments) {
  const auto grid =
      profiler::contention_grid_from_json(sim::read_text_file(arguments.fit), arguments.fit);
  const planner::MachineProfile blank;
  const profiler::ContentionFit fit = profiler::fit_contention(blank, grid);
  if (arguments.json) {
    std::cout << planner::to_json_text(fit.profile);
    return 0;
  }
  print_fit(fit);
  std::cout << "largest errors held out:\n" << profiler::misses_text(fit, 12) << "fitted:\n";
  for (const char* name : {"dram", "h2d_dram", "d2h_dram", "h2d_weight", "d2h_weight"}) {
    for (const planner::FactField& field : planner::fact_fields()) {
      if (std::string_view(field.name) != name) continue;
      const planner::Fact fact = field.of(fit.profile);
      std::cout << fmt::format("  {:<12}{} +- {:.0f} %\n", name,
                               planner::format_fact(fact, field.unit),
                               100 * fact.deviation / fact.value);
    }
  }
  for (const auto& pair : fit.profile.interference) {
    const std::string where =
        pair.threads > 0 ? fmt::format(", optimizer on {} threads", pair.threads) : "";
    std::cout << fmt::format("  {} beside {}{}: {:.3f}\n", to_string(pair.on), to_string(pair.from),
                             where, pair.factor.value);
  }
  return 0;
}

}  // namespace

int run_probe(const Arguments& words) {
  CLI::App app(
      "Measures this machine into a profile (some 30 s on two cores, a few minutes with a GPU) and "
      "keeps it as \"here\".",
      "probe");
  ProbeArguments arguments;
  app.add_flag("--quick", arguments.quick,
               "some 10 s, about a minute with a GPU, with wider deviations");
  app.add_option("--backend", arguments.backend, "host or cuda; cuda where a usable GPU is");
  app.add_option("-o", arguments.file, "also write the profile to this file");
  app.add_option("--disk-path", arguments.disk.folder,
                 "folder on the drive that training will use (this one)");
  app.add_option("--disk-seconds", arguments.disk_seconds,
                 "read and write there at once for so long: what drives fall to after minutes "
                 "(4 with a GPU, else 1; less with --quick)")
      ->check(CLI::Range(0.0, 86400.0));
  app.add_option("--disk-size", arguments.disk_size,
                 "read and write a file of this size there: drives are slower over as much as "
                 "training keeps on them (4 GiB with a GPU, else 1; less with --quick)");
  app.add_option("--grid", arguments.grid,
                 "write what copies and the optimizer reached together to this file");
  app.add_option("--fit-grid", arguments.fit,
                 "measure nothing: fit the contention model to such a file");
  app.add_option("--devices", arguments.devices,
                 "GPUs that train together: also measures their links all at once, beside the "
                 "optimizer, and collectives between them")
      ->check(CLI::Range(1, 8));
  app.add_flag("--json", arguments.json, "print the profile as JSON");
  parse(app, words);
  arguments.disk.lasting = Seconds(arguments.disk_seconds);
  if (!arguments.disk_size.empty()) {
    arguments.disk.size = planner::parse_bytes(arguments.disk_size, "--disk-size");
    if (*arguments.disk.size == Bytes(0)) {
      throw BadRequest("--disk-size: a file of 0 B has no rate; state for example 64GiB");
    }
  }
  if (!arguments.fit.empty()) return fit_again(arguments);

  const planner::Store store = planner::Store::of_user();
  const profiler::Findings findings = profiler::examine_machine({.store = store.root()});
  profiler::require_healthy(findings);
  const DeviceKind backend = backend_of(arguments);
  if (arguments.devices > 1) {
    if (backend == DeviceKind::host) {
      throw BadRequest(
          "--devices: ranks of the host backend share this machine as one: leave it out");
    }
    profiler::require_several_gpus(arguments.devices);
  }
  if (!arguments.json) std::cout << profiler::findings_text(profiler::warnings(findings));
  const auto progress = [&](const std::string& part, const std::string& result) {
    if (!arguments.json) std::cout << fmt::format("{:<22}{}", part, result) << std::endl;
  };
  const auto depth = arguments.quick ? profiler::ProbeDepth::quick : profiler::ProbeDepth::full;
  planner::MachineProfile profile;
  if (backend == DeviceKind::cuda) {
    profiler::CudaProbe probe = profiler::probe_cuda(depth, progress, arguments.disk);
    if (arguments.devices > 1) {
      profiler::probe_several_gpus(probe, arguments.devices, depth, progress);
    }
    profile = probe.profile;
    if (!arguments.grid.empty()) {
      planner::write_whole_file(arguments.grid, profiler::to_json_text(probe.grid));
    }
    if (!arguments.json) {
      if (probe.fit) print_fit(*probe.fit);
      std::cout << profiler::findings_text(probe.warnings);
    }
  } else {
    if (!arguments.grid.empty()) {
      throw BadRequest("--grid: only copies of a GPU contend so; use it with --backend cuda");
    }
    profile = profiler::probe_host(depth, progress, arguments.disk);
  }
  profile.probe = depth;
  const auto kept = store.save(profile);
  if (!arguments.file.empty()) planner::write_profile(profile, arguments.file);
  if (arguments.json) {
    std::cout << planner::to_json_text(profile);
  } else {
    std::cout << "kept as \"here\": " << kept.string() << '\n';
    if (!arguments.file.empty()) std::cout << "wrote " << arguments.file << '\n';
    std::cout << "next: sluice machines show here\n";
  }
  return 0;
}

}  // namespace sluice::cli
