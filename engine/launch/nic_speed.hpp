// How fast the network interfaces of this host are, as the system says.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace sluice::engine {

/// Bits per second of the interface that has the numeric `address`; none where the system does not
/// know, as for interfaces of a virtual machine.
[[nodiscard]] std::optional<double> nic_bits_per_second(const std::string& address);

/// Bits per second of this host's active InfiniBand ports together; none where it has none.
/// `classes` is the folder that lists the cards.
[[nodiscard]] std::optional<double> infiniband_bits_per_second(
    const std::filesystem::path& classes = "/sys/class/infiniband");

}  // namespace sluice::engine
