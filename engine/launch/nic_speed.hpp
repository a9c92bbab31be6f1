// How fast the network interface of an address is, as the system says.
#pragma once

#include <optional>
#include <string>

namespace sluice::engine {

/// Bits per second of the interface that has the numeric `address`; none where the system does not
/// know, as for interfaces of a virtual machine.
[[nodiscard]] std::optional<double> nic_bits_per_second(const std::string& address);

}  // namespace sluice::engine
