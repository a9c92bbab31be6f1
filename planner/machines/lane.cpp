#include "planner/machines/lane.hpp"

namespace sluice::planner {

const char* to_string(LaneKind lane) {
  switch (lane) {
    case LaneKind::compute:
      return "compute";
    case LaneKind::h2d:
      return "h2d";
    case LaneKind::d2h:
      return "d2h";
    case LaneKind::cpu:
      return "cpu";
    case LaneKind::launch:
      return "launch";
    case LaneKind::disk_read:
      return "disk-read";
    case LaneKind::disk_write:
      return "disk-write";
    case LaneKind::fabric:
      return "fabric";
  }
  return "?";
}

std::optional<LaneKind> lane_named(std::string_view name) {
  for (std::size_t i = 0; i < kLaneKinds; ++i) {
    const auto lane = static_cast<LaneKind>(i);
    if (name == to_string(lane)) return lane;
  }
  return std::nullopt;
}

}  // namespace sluice::planner
