// Rented computers: instances of clouds, and the share of a node that comes with one rented GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "planner/runs/run_config.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// An instance as a cloud offers it, of which a run uses one GPU.
struct Instance {
  std::string gpu;          ///< Name of the GPU part.
  std::int64_t gpus = 1;    ///< Number of GPUs of the instance.
  std::int64_t gib = 0;     ///< Host memory of the whole instance, in GiB.
  std::int64_t vcpus = 0;   ///< Virtual CPUs of the whole instance.
  double usd_per_hour = 0;  ///< Rent of the whole instance.
  std::string date;         ///< When the rent was read.
  std::string address;      ///< Page of the rent.
  /// Page of GPUs, memory and virtual CPUs, where it is another than `address`; else empty.
  std::string specification = {};
  /// NICs by which several of them are joined (parse_nic), as their page states them; else empty.
  std::string nic = {};
};

/// Host memory and cores that come with a rented GPU.
struct RentedHost {
  Bytes memory{0};
  std::int64_t cores = 0;
};

/// The host of an instance: all of its memory, and a core for each two virtual CPUs (for each one
/// of an Arm CPU).
[[nodiscard]] RentedHost host_of(const Instance& instance);

/// The share of its node that is rented with one GPU of `machine`, a machine of the catalogue whose
/// GPU is sold in nodes: memory and cores of the node (GpuPart::node_memory) over its GPUs. None
/// where the GPU is not sold in nodes, the node is not known, or the machine's profile was measured
/// on such a share.
[[nodiscard]] std::optional<RentedHost> share_of_node(const std::string& machine);

/// The run on `machine` with no more memory and cores than `host`. Memory and cores that the run
/// states itself stay.
[[nodiscard]] RunConfig on_rented(RunConfig run, const std::string& machine,
                                  const RentedHost& host);

}  // namespace sluice::planner
