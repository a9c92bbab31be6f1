#include "planner/catalogue/part_list.hpp"

#include <nlohmann/json.hpp>

#include "planner/catalogue/parts.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {
namespace {

using sim::Json;

Json gpus_json() {
  Json list = Json::array();
  for (const GpuPart& gpu : gpu_parts()) {
    list.push_back({{"name", gpu.name},
                    {"architecture", gpu.architecture},
                    {"memory_bytes", gpu.memory.count()},
                    {"memory_bytes_per_s", gpu.bandwidth.count()},
                    {"peak_bf16_flop_per_s", gpu.peak.count()},
                    {"link", to_string(gpu.link)},
                    {"source", gpu.source}});
  }
  return list;
}

Json cpus_json() {
  Json list = Json::array();
  for (const CpuPart& cpu : cpu_parts()) {
    list.push_back({{"name", cpu.name},
                    {"cores", cpu.cores},
                    {"pcie", cpu.pcie},
                    {"lanes", cpu.lanes},
                    {"server", cpu.server},
                    {"memory", cpu.memory},
                    {"channels", cpu.channels},
                    {"slots", cpu.slots},
                    {"modules", cpu.counts},
                    {"transfers_per_s", Json::array()},
                    {"module_bytes", Json::array()},
                    {"source", cpu.source}});
    Json& last = list.back();
    for (const std::int64_t speed : cpu.speeds)
      last["transfers_per_s"].push_back(speed * 1'000'000);
    for (const std::int64_t gib : cpu.module_gib) last["module_bytes"].push_back(gib << 30);
  }
  return list;
}

Json ssds_json() {
  Json list = Json::array();
  for (const SsdPart& ssd : ssd_parts()) {
    list.push_back({{"name", ssd.name},
                    {"pcie", ssd.pcie},
                    {"size_bytes", ssd.size.count()},
                    {"read_bytes_per_s", ssd.read.count()},
                    {"write_bytes_per_s", ssd.write.count()},
                    {"rated_writes", ssd.endurance},
                    {"source", ssd.source}});
  }
  return list;
}

}  // namespace

std::string part_list_json() {
  const Json json = {{"schema", "sluice/part-list/1"},
                     {"gpus", gpus_json()},
                     {"cpus", cpus_json()},
                     {"ssds", ssds_json()}};
  return json.dump(2) + "\n";
}

}  // namespace sluice::planner
