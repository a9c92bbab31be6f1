// Device memory that collectives between GPUs take outside the arena.
#pragma once

#include <cstdint>

#include "planner/machines/machine.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Bytes that the library of collectives takes on each GPU for its channels and its program, with
/// several ranks; 0 with one, and on the host backend. NCCL takes 340 to 400 MiB.
[[nodiscard]] constexpr Bytes collective_bytes(DeviceKind device, std::int64_t ranks) {
  return ranks > 1 && device == DeviceKind::cuda ? Bytes(400ll << 20) : Bytes(0);
}

}  // namespace sluice::planner
