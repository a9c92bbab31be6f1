#include "planner/catalogue/machine_list.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "planner/catalogue/catalogue.hpp"
#include "planner/machines/profile_file.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {
namespace {

using sim::Json;

constexpr std::array kSupport = {
    Support{"host", "any x86-64 computer", "tested"},
    Support{"sm_80", "A100", "compiled"},
    Support{"sm_86", "RTX 3090, A6000", "compiled"},
    Support{"sm_89", "RTX 4090, L40S, L4", "compiled"},
    Support{"sm_90", "H100, H200, GH200", "tested"},
    Support{"sm_100", "B200, GB200", "compiled"},
    Support{"sm_103", "B300", "compiled"},
    Support{"sm_120", "RTX 5090, RTX PRO 6000", "compiled"},
    Support{"sm_121", "GB10 (DGX Spark)", "compiled"},
    Support{"sm_70", "V100: no bf16, kernels need 8.0 and newer", kDoesNotRun},
    Support{"gfx942", "MI300X: no CUDA", kDoesNotRun},
    Support{"gfx950", "MI355X: no CUDA", kDoesNotRun},
    Support{"gfx1151", "Strix Halo: no CUDA", kDoesNotRun},
    Support{"apple", "M3 Ultra, M4 Max: no CUDA", kDoesNotRun},
};

}  // namespace

std::span<const Support> support() { return kSupport; }

bool runs_the_engine(const std::string& architecture) {
  return std::ranges::any_of(kSupport, [&](const Support& one) {
    return architecture == one.architecture && std::string(one.state) != kDoesNotRun;
  });
}

std::map<std::string, int> sources(const MachineProfile& profile) {
  std::map<std::string, int> counts = {{"measured", 0}, {"datasheet", 0}, {"estimated", 0}};
  const auto count = [&counts](const auto& fact) { ++counts[to_string(fact.source)]; };
  for (const FactField& field : fact_fields()) {
    if (is_stated(profile, field)) count(field.of(profile));
  }
  for (const ProductPoint& point : profile.gemm) count(point.rate);
  for (const AttentionPoint& point : profile.attention) {
    count(point.forward);
    count(point.backward);
  }
  for (const auto& [threads, rate] : profile.update) count(rate);
  for (const auto& pair : profile.interference) count(pair.factor);
  counts["measured"] += static_cast<int>(profile.passes.size());
  return counts;
}

std::vector<MachineProfile> listed_machines() {
  std::vector<MachineProfile> machines = {find_machine("here")};
  machines.front().name = "here";
  for (const CatalogueMachine& machine : catalogue_machines()) {
    machines.push_back(find_machine(machine.name));
  }
  return machines;
}

std::string machine_list_json() {
  Json json = {
      {"schema", "sluice/machine-list/1"}, {"machines", Json::array()}, {"support", Json::array()}};
  for (const MachineProfile& machine : listed_machines()) {
    json["machines"].push_back({{"name", machine.name},
                                {"device", to_string(machine.device)},
                                {"architecture", machine.architecture},
                                {"hbm_bytes", machine.hbm.value},
                                {"host_bytes", machine.host.value},
                                {"cores", machine.cores.value},
                                {"h2d_bytes_per_s", machine.h2d.value.count()},
                                {"d2h_bytes_per_s", machine.d2h.value.count()},
                                {"dram_bytes_per_s", machine.dram.value.count()},
                                {"peak_bf16_flop_per_s", machine.peak_bf16.value.count()},
                                {"profile_hash", profile_hash(machine)},
                                {"sources", sources(machine)}});
  }
  for (const Support& each : kSupport) {
    json["support"].push_back(
        {{"architecture", each.architecture}, {"examples", each.examples}, {"state", each.state}});
  }
  return json.dump(2) + "\n";
}

}  // namespace sluice::planner
