// Clusters: equal hosts of the catalogue, joined by their NICs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/units.hpp"

namespace sluice::planner {

/// "2 hosts of 8x-h100-sxm + 8x400GbE".
struct Cluster {
  std::int64_t hosts = 1;
  std::string machine;  ///< Name of one host, without its NICs.
  std::string nic;      ///< NICs of a host (parse_nic); empty where the name states none.
};

/// The cluster that `name` names; none for other names.
[[nodiscard]] std::optional<Cluster> cluster_named(const std::string& name);
/// The name that cluster_named() takes apart.
[[nodiscard]] std::string to_text(const Cluster& cluster);

/// GPUs of the machine or cluster called `name`, by the numbers in its name.
[[nodiscard]] std::int64_t gpus_named(const std::string& name);

/// Bytes/s that a host's NICs carry each way: "8x400GbE" and "100 Gbit/s" by the rule that 0.96 of
/// the bits are payload, as NCCL's tests find on NICs of 400 Gbit/s, or a rate as it is, such as
/// "47 GB/s". Throws BadRequest naming `field`.
[[nodiscard]] BytesPerSecond parse_nic(const std::string& text, const std::string& field);

}  // namespace sluice::planner
