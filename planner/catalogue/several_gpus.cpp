#include "planner/catalogue/several_gpus.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "planner/catalogue/catalogue_files.hpp"
#include "planner/catalogue/counted_machine.hpp"
#include "planner/catalogue/fabrics.hpp"
#include "sim/error.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {
namespace {

constexpr double kBillion = 1e9;
constexpr std::int64_t kGpusOfSocket = 4;

/// Replaces the host of `machine` by a socket of the node that `json` describes.
void set_node_host(MachineProfile& machine, const sim::JsonObject& json) {
  const std::string source = json.text("source");
  const double relative = json.number("deviation");
  const auto set = [&]<class Quantity>(Measured<Quantity>& fact, double value) {
    fact = in_unit<Quantity>({.value = value,
                              .deviation = relative * value,
                              .count = 1,
                              .source = Source::measured,
                              .note = source});
  };
  set(machine.cores, json.number("cores"));
  machine.cores.deviation = 0;
  set(machine.host, json.number("host_gib") * (1ll << 30));
  machine.host.deviation = 0;
  set(machine.dram, kBillion * json.number("dram_gb_s"));
  set(machine.h2d_dram, json.number("h2d_dram"));
  set(machine.d2h_dram, json.number("d2h_dram"));
  set(machine.h2d_weight, json.number("h2d_weight"));
  set(machine.d2h_weight, json.number("d2h_weight"));
  const std::vector<double> threads = json.numbers("update_threads");
  const std::vector<double> rates = json.numbers("update_gigaparameters_s");
  // Fewer threads than were measured here are as fast as the profile has them.
  machine.update.erase(machine.update.lower_bound(static_cast<std::int64_t>(threads.front())),
                       machine.update.end());
  for (std::size_t i = 0; i < threads.size(); ++i) {
    set(machine.update[static_cast<std::int64_t>(threads[i])], kBillion * rates[i]);
  }
  std::erase_if(machine.interference, [](const LaneSlowing& pair) {
    const auto copies = [](LaneKind lane) {
      return lane == LaneKind::h2d || lane == LaneKind::d2h;
    };
    return (pair.on == LaneKind::cpu && copies(pair.from)) ||
           (copies(pair.on) && pair.from == LaneKind::cpu);
  });
  const std::vector<double> counts = json.numbers("interference_threads");
  for (const auto& pair : json.objects("interference")) {
    const std::vector<double> factors = pair.numbers("factors");
    for (std::size_t i = 0; i < counts.size(); ++i) {
      machine.interference.push_back({lane_named(pair.text("on")).value(),
                                      lane_named(pair.text("from")).value(),
                                      {},
                                      static_cast<std::int64_t>(counts[i])});
      set(machine.interference.back().factor, factors[i]);
    }
  }
}

template <class Quantity>
void multiply(Measured<Quantity>& fact, std::int64_t by) {
  scale_by(fact, static_cast<double>(by));
  fact.source = Source::estimated;
  fact.note = std::to_string(by) + " sockets, each: " + fact.note;
}

void set_sockets(MachineProfile& machine, std::int64_t sockets) {
  if (sockets == 1) return;
  for (Fact* fact : {&machine.cores, &machine.host}) multiply(*fact, sockets);
  multiply(machine.dram, sockets);
  std::map<std::int64_t, Fact> update;
  for (auto& [threads, rate] : machine.update) {
    if (threads == 1) update.emplace(1, rate);
    multiply(update.emplace(threads * sockets, rate).first->second, sockets);
  }
  machine.update = std::move(update);
  for (LaneSlowing& pair : machine.interference) pair.threads *= sockets;
}

void set_lanes(MachineProfile& machine, const GpuPart& gpu, std::int64_t lanes) {
  const std::int64_t most = gpu.link == HostLink::pcie5_x8 ? 8 : 16;
  if (lanes == most) return;
  const double part = static_cast<double>(lanes) / static_cast<double>(most);
  for (Bandwidth* fact : {&machine.h2d, &machine.d2h, &machine.h2d_duplex, &machine.d2h_duplex}) {
    scale_by(*fact, part);
    fact->source = Source::estimated;
    fact->note = std::to_string(lanes) + " lanes a GPU of: " + fact->note;
  }
}

}  // namespace

std::optional<CountedParts> find_counted_parts(const std::string& text) {
  const CountedMachine many = counted_machine(text);
  auto parts = find_composition(many.machine);
  if (!parts) return std::nullopt;
  return CountedParts{.gpus = many.gpus, .parts = std::move(*parts)};
}

std::string to_text(const CountedParts& parts) {
  return counted_name({.gpus = parts.gpus, .machine = to_text(parts.parts)});
}

std::int64_t sockets_of(const CpuPart& cpu, std::int64_t gpus) {
  return cpu.server ? (gpus + kGpusOfSocket - 1) / kGpusOfSocket : 1;
}

std::int64_t lanes_of_each(const CountedParts& machine) {
  constexpr std::int64_t kSsdLanes = 4;
  constexpr std::array kWidths = {16, 8, 4};
  const GpuPart& gpu = find_gpu(machine.parts.gpu);
  const CpuPart& cpu = find_cpu(machine.parts.cpu);
  const std::int64_t most = gpu.link == HostLink::pcie5_x8 ? 8 : 16;
  if (gpu.node_gpus > 1) return most;
  const std::int64_t left =
      sockets_of(cpu, machine.gpus) * cpu.lanes - kSsdLanes * machine.parts.ssd.count;
  for (const std::int64_t width : kWidths) {
    if (width <= most && machine.gpus * width <= left) return width;
  }
  throw BadRequest("machine: " + std::to_string(machine.gpus) + " GPUs: " + cpu.name + " has " +
                   std::to_string(left) +
                   " PCIe lanes for them, fewer than 4 each: name fewer, or "
                   "another CPU (sluice machines parts)");
}

MachineProfile with_node_host(MachineProfile profile, const std::string& name) {
  for (const CatalogueFile& file : catalogue_parts_files()) {
    if (file.name != "nodes") continue;
    const sim::JsonDocument parsed = sim::parse_json(file.text, "catalogue parts nodes");
    for (const auto& json : sim::JsonObject(parsed, "catalogue parts nodes").objects("nodes")) {
      const auto names = json.texts("builds");
      if (std::ranges::find(names, name) != names.end()) set_node_host(profile, json);
    }
  }
  return profile;
}

MachineProfile with_several_gpus(MachineProfile one, const Composition& parts, std::int64_t gpus) {
  const GpuPart& gpu = find_gpu(parts.gpu);
  const CpuPart& cpu = find_cpu(parts.cpu);
  set_sockets(one, sockets_of(cpu, gpus));
  set_lanes(one, gpu, lanes_of_each({.gpus = gpus, .parts = parts}));
  one.fabric = fabric_of(gpu, gpus, one.h2d.value);
  one.devices = gpus;
  one.name = counted_name({.gpus = gpus, .machine = one.name});
  return one;
}

}  // namespace sluice::planner
