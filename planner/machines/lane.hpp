// The lanes of one computer: each runs one task at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice::planner {

/// A serial executor of one kind of tasks. A graph has the disk lanes only where its plan uses the
/// disk or has several ranks, and the fabric's lane, on which ranks exchange bytes, only where its
/// plan has several ranks.
enum class LaneKind : std::uint8_t {
  compute,
  h2d,
  d2h,
  cpu,
  launch,
  disk_read,
  disk_write,
  fabric
};
inline constexpr std::size_t kLaneKinds = 8;
/// Name of the lane in graph files and traces, such as "h2d".
const char* to_string(LaneKind lane);
/// The lane of this name; none where no lane has it.
[[nodiscard]] std::optional<LaneKind> lane_named(std::string_view name);

}  // namespace sluice::planner
