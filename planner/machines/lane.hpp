// The lanes of one computer: what runs one task at a time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sluice::planner {

/// Graphs of plans that use no disk have no lanes for it.
enum class LaneKind : std::uint8_t { compute, h2d, d2h, cpu, launch, disk_read, disk_write };
inline constexpr std::size_t kLaneKinds = 7;
const char* to_string(LaneKind lane);  ///< The lane's name in graph files.

}  // namespace sluice::planner
