// `sluice machines`: the catalogue of machines, where each number comes from, and what is
// supported.
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <map>

#include "cli/shown/machine_calibration.hpp"
#include "cli/words/listing.hpp"
#include "planner/catalogue/catalogue.hpp"
#include "planner/catalogue/catalogue_files.hpp"
#include "planner/catalogue/composed_machine.hpp"
#include "planner/catalogue/machine_kernels.hpp"
#include "planner/catalogue/machine_list.hpp"
#include "planner/catalogue/part_list.hpp"
#include "planner/catalogue/parts.hpp"
#include "planner/catalogue/store.hpp"
#include "planner/machines/profile_file.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::cli {
namespace {

using planner::Fact;
using planner::FactField;
using planner::FactUnit;
using planner::MachineProfile;

void list_text() {
  const auto text = [](const Fact& fact, FactUnit unit) { return format_fact(fact, unit); };
  std::printf("%-18s %-16s %9s %9s %6s %10s %10s %13s   %s\n", "machine", "architecture", "hbm",
              "host", "cores", "h2d", "dram", "bf16 peak", "numbers: measured/datasheet/estimated");
  for (const MachineProfile& machine : planner::listed_machines()) {
    std::map<std::string, int> counts = planner::sources(machine);
    std::printf("%-18s %-16s %9s %9s %6s %10s %10s %13s   %d/%d/%d\n", machine.name.c_str(),
                machine.architecture.c_str(), text(machine.hbm, FactUnit::bytes).c_str(),
                text(machine.host, FactUnit::bytes).c_str(),
                std::to_string(static_cast<int>(machine.cores.value)).c_str(),
                text(number_of(machine.h2d), FactUnit::bytes_per_second).c_str(),
                text(number_of(machine.dram), FactUnit::bytes_per_second).c_str(),
                text(number_of(machine.peak_bf16), FactUnit::flops_per_second).c_str(),
                counts["measured"], counts["datasheet"], counts["estimated"]);
  }
  std::printf("\n%-14s %-28s %s\n", "architecture", "for example", "support");
  for (const planner::Support& support : planner::support()) {
    std::printf("%-14s %-28s %s\n", support.architecture, support.examples, support.state);
  }
}

void show_fact(const std::string& name, const Fact& fact, FactUnit unit) {
  const double percent = fact.value == 0 ? 0 : 100 * fact.deviation / fact.value;
  std::printf("  %-24s %14s  +- %4.1f %%  %-10s %s\n", name.c_str(),
              format_fact(fact, unit).c_str(), percent, to_string(fact.source), fact.note.c_str());
}

/// Prints where the times of products and attention by shape come from.
void show_kernels(const MachineProfile& machine) {
  if (!machine.kernels) return;
  for (const planner::KernelKind kind :
       {planner::KernelKind::gemm, planner::KernelKind::attention}) {
    const planner::KernelFamily* const family = machine.kernels->family(kind);
    if (family == nullptr) {
      std::printf("  kernels, %s: none of %s, the rates above stand\n", to_string(kind),
                  machine.kernels->device().c_str());
      continue;
    }
    std::printf("  kernels, %s: by shape, %lld of %s measured, median error %.1f %%: %s\n",
                to_string(kind), static_cast<long long>(family->rows),
                machine.kernels->device().c_str(), 100 * family->check.median_error,
                family->source.c_str());
  }
}

void show_slowings(const std::vector<planner::LaneSlowing>& slowings) {
  for (const planner::LaneSlowing& pair : slowings) {
    const std::string where =
        pair.threads > 0 ? ", optimizer on " + std::to_string(pair.threads) + " threads" : "";
    show_fact(std::string(to_string(pair.on)) + " while " + to_string(pair.from) + " runs" + where,
              pair.factor, FactUnit::number);
  }
}

/// Prints how many GPUs the machine has, and what connects them.
void show_gpus(const MachineProfile& machine) {
  if (machine.devices) {
    std::printf(
        "  %-24s %14lld  which share host memory, cores and disk; other numbers are one's\n",
        "gpus", static_cast<long long>(*machine.devices));
  }
  if (!machine.fabric) return;
  const planner::Fabric& fabric = *machine.fabric;
  std::printf("  %-24s %14s\n", "between gpus", to_string(fabric.path));
  show_fact("collective, latency", number_of(fabric.latency), FactUnit::seconds);
  for (const auto& [name, curve] :
       {std::pair("gather of ", &fabric.gather), std::pair("exchange of ", &fabric.exchange)}) {
    for (const planner::CurvePoint& point : *curve) {
      show_fact(name + planner::format_bytes(Bytes(static_cast<std::int64_t>(point.size))),
                number_of(point.rate), FactUnit::bytes_per_second);
    }
  }
  show_slowings(fabric.interference);
}

void show_text(const MachineProfile& machine) {
  std::printf("%s: %s backend, %s, profile %s\n\n", machine.name.c_str(), to_string(machine.device),
              machine.architecture.c_str(), profile_hash(machine).c_str());
  for (const FactField& field : planner::fact_fields()) {
    if (!is_stated(machine, field)) continue;
    show_fact(field.name, field.of(machine), field.unit);
  }
  for (const planner::ProductPoint& point : machine.gemm) {
    show_fact("gemm of " + planner::format_amount(point.size.count()) + "FLOP",
              number_of(point.rate), FactUnit::flops_per_second);
  }
  for (const planner::AttentionPoint& point : machine.attention) {
    const std::string shape = " of " + planner::format_amount(static_cast<double>(point.length)) +
                              ", " + std::to_string(point.head_dim);
    show_fact("forward" + shape, number_of(point.forward), FactUnit::flops_per_second);
    show_fact("backward" + shape, number_of(point.backward), FactUnit::flops_per_second);
  }
  show_kernels(machine);
  for (const auto& [threads, rate] : machine.update) {
    show_fact("update, threads " + std::to_string(threads), rate, FactUnit::per_second);
  }
  show_slowings(machine.interference);
  show_gpus(machine);
  for (const planner::MeasuredPass& pass : machine.passes) {
    std::printf("  %s  %s +- %.1f %%, %lld measured%s%s\n", pass.key.c_str(),
                planner::format_seconds(pass.time).c_str(), 100 * (pass.deviation / pass.time),
                static_cast<long long>(pass.count), pass.note.empty() ? "" : ": ",
                pass.note.c_str());
  }
}

/// Handles `reset NAME` and `merge NAME FILE`; returns false for anything else.
bool change_calibration(const std::vector<std::string>& words) {
  const bool reset = !words.empty() && words[0] == "reset";
  const bool merge = !words.empty() && words[0] == "merge";
  if (!reset && !merge) return false;
  if (words.size() != (reset ? 2U : 3U)) {
    throw BadRequest(reset ? "machines reset: takes the NAME of a machine"
                           : "machines merge: takes the NAME of a machine and a calibration FILE");
  }
  const MachineProfile machine = planner::find_machine(words[1]);
  const planner::Store store = planner::Store::of_user();
  const std::string said =
      reset ? reset_calibration(machine, store) : merge_calibration(machine, words[2], store);
  std::fputs(said.c_str(), stdout);
  return true;
}

/// Handles `parts`, the values of --gpu, --cpu, --ram and --ssd; returns false for anything else.
bool list_parts(std::vector<std::string> words) {
  const bool json = std::erase(words, "--json") > 0;
  if (words != std::vector<std::string>{"parts"}) return false;
  if (json) {
    std::cout << planner::part_list_json();
    return true;
  }
  const auto joined = [](const std::vector<std::int64_t>& numbers) {
    std::string text;
    for (const std::int64_t number : numbers)
      text += (text.empty() ? "" : ",") + std::to_string(number);
    return text;
  };
  std::printf("%-20s %-8s %9s %10s %13s %-10s %s\n", "--gpu", "", "memory", "bandwidth",
              "bf16 peak", "link", "source");
  for (const planner::GpuPart& gpu : planner::gpu_parts()) {
    std::printf("%-20s %-8s %9s %10s %13s %-10s %s\n", gpu.name.c_str(), gpu.architecture.c_str(),
                planner::format_bytes(gpu.memory).c_str(),
                planner::format_rate(gpu.bandwidth).c_str(), planner::format_rate(gpu.peak).c_str(),
                to_string(gpu.link), gpu.source.c_str());
  }
  std::printf("\n%-24s %5s %5s %6s %-8s %8s %-20s %-10s %s\n", "--cpu", "cores", "PCIe", "lanes",
              "memory", "channels", "--ram: modules", "MT/s", "GiB each");
  for (const planner::CpuPart& cpu : planner::cpu_parts()) {
    std::printf("%-24s %5s %5d %6s %-8s %8s %-20s %-10s %s\n", cpu.name.c_str(),
                std::to_string(cpu.cores).c_str(), cpu.pcie, std::to_string(cpu.lanes).c_str(),
                cpu.memory.c_str(), std::to_string(cpu.channels).c_str(),
                joined(cpu.counts).c_str(), joined(cpu.speeds).c_str(),
                joined(cpu.module_gib).c_str());
  }
  std::printf("\n%-8s %9s %10s %10s %16s  %s\n", "--ssd", "size", "read", "write", "rated to write",
              "source");
  for (const planner::SsdPart& ssd : planner::ssd_parts()) {
    std::printf("%-8s %9s %10s %10s %16s  %s\n", ssd.name.c_str(),
                planner::format_bytes(ssd.size).c_str(), planner::format_rate(ssd.read).c_str(),
                planner::format_rate(ssd.write).c_str(),
                (std::to_string(static_cast<int>(ssd.endurance)) + " times over").c_str(),
                ssd.source.c_str());
  }
  return true;
}

/// Handles `prices [NAME]`, an example of a price file; returns false for anything else.
bool show_example_prices(const std::vector<std::string>& words) {
  if (words.empty() || words[0] != "prices") return false;
  const std::string name = words.size() > 1 ? words[1] : "example";
  for (const planner::CatalogueFile& file : planner::catalogue_prices_files()) {
    if (file.name != name || words.size() > 2) continue;
    std::fputs(file.text.c_str(), stdout);
    return true;
  }
  throw BadRequest("machines prices: takes nothing (prices of parts) or clouds (instances)");
}

/// The machine that a command names, with the kernel model of `kernels` where one is given.
MachineProfile named_machine(const std::string& name, const std::optional<std::string>& kernels) {
  MachineProfile machine = planner::find_machine(name);
  if (kernels) planner::set_kernels(machine, *kernels, name);
  return machine;
}

/// The words of the command line without --gpu, --cpu, --ram and --ssd, whose values are stored in
/// `parts`, and without --kernels, whose value is stored in `kernels`.
Arguments without_parts(const Arguments& arguments, planner::PartFlags& parts,
                        std::optional<std::string>& kernels) {
  const std::map<std::string, std::optional<std::string>*> flags{{"--kernels", &kernels},
                                                                 {"--gpu", &parts.gpu},
                                                                 {"--cpu", &parts.cpu},
                                                                 {"--ram", &parts.ram},
                                                                 {"--ssd", &parts.ssd}};
  Arguments rest;
  for (std::size_t i = 0; i < arguments.strings.size(); ++i) {
    const std::string& word = arguments.strings[i];
    const std::size_t equals = word.find('=');
    const auto flag = flags.find(word.substr(0, equals));
    if (flag == flags.end()) {
      rest.strings.push_back(word);
    } else if (equals != std::string::npos) {
      *flag->second = word.substr(equals + 1);
    } else if (i + 1 < arguments.strings.size()) {
      *flag->second = arguments.strings[++i];
    } else {
      throw BadRequest(word + ": a value is missing after it (sluice machines parts)");
    }
  }
  return rest;
}

}  // namespace

int run_machines(const Arguments& arguments) {
  if (change_calibration(arguments.strings)) return 0;
  if (list_parts(arguments.strings)) return 0;
  if (show_example_prices(arguments.strings)) return 0;
  planner::PartFlags parts;
  std::optional<std::string> kernels;
  Arguments words = without_parts(arguments, parts, kernels);
  const auto is_name = [](const std::string& word) { return !word.starts_with("-"); };
  if (parts.any() && std::ranges::count_if(words.strings, is_name) == 1) {
    std::erase(words.strings, "show");  // The parts are what is to be shown.
  }
  Listing listing = parse_listing(
      words, "machines", "NAME|FILE|here",
      "list, parts (of which machines can be composed), prices (an example of a price file; prices "
      "clouds: of instances), show NAME (or --gpu, "
      "--cpu, --ram, --ssd, as runs take them; --kernels FILE, what sluice fit wrote) "
      "with its calibration, "
      "reset NAME (delete the calibration), or merge NAME FILE (add to it)");
  if (parts.any()) listing.shown = composed_text(listing.shown, parts);
  if (listing.shown) {
    const MachineProfile machine = named_machine(*listing.shown, kernels);
    if (listing.json) {
      std::cout << to_json_text(machine);
    } else {
      show_text(machine);
      std::cout << std::flush;
      const MachineProfile calibrated = planner::find_machine(*listing.shown);
      std::fputs(calibration_table(calibrated, planner::Store::of_user()).c_str(), stdout);
    }
  } else if (kernels) {
    throw BadRequest("--kernels: name the machine whose kernels these are: machines show NAME");
  } else if (listing.json) {
    std::cout << planner::machine_list_json();
  } else {
    list_text();
  }
  return 0;
}

}  // namespace sluice::cli
