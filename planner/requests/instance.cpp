#include "planner/requests/instance.hpp"

#include <algorithm>

#include "planner/catalogue/cluster.hpp"
#include "planner/catalogue/several_gpus.hpp"

namespace sluice::planner {
namespace {

/// Share of a host's memory that a run can use, as compose() states it.
constexpr double kUsable = 0.98;

}  // namespace

RentedHost host_of(const Instance& instance) {
  const auto parts = find_composition(instance.gpu);
  const bool is_arm = parts && find_cpu(parts->cpu).is_arm;
  return {.memory = Bytes(instance.gib << 30),
          .cores = std::max<std::int64_t>(1, is_arm ? instance.vcpus : instance.vcpus / 2)};
}

std::optional<RentedHost> share_of_node(const std::string& machine) {
  const Build* build = find_build(machine);
  if (build == nullptr || !build->share.empty()) return std::nullopt;
  const GpuPart& gpu = find_gpu(build->parts.gpu);
  if (gpu.node_gpus == 1 || !gpu.node) return std::nullopt;
  return RentedHost{.memory = Bytes(gpu.node->memory.count() / gpu.node_gpus),
                    .cores = std::max<std::int64_t>(1, gpu.node->cores / gpu.node_gpus)};
}

RunConfig on_rented(RunConfig run, const std::string& machine, const RentedHost& host) {
  run.machine = machine;
  if (!run.limits.host) {
    run.limits.host =
        Bytes(static_cast<std::int64_t>(kUsable * static_cast<double>(host.memory.count())));
  }
  std::int64_t cores = host.cores;
  const auto cluster = cluster_named(machine);
  if (const auto whole = find_counted_parts(cluster ? cluster->machine : machine)) {
    const CpuPart& cpu = find_cpu(whole->parts.cpu);
    cores = std::min(cores, cpu.cores * sockets_of(cpu, whole->gpus));
  }
  run.machine_overrides.try_emplace("cores", std::to_string(cores));
  return run;
}

}  // namespace sluice::planner
