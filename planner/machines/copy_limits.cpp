#include "planner/machines/copy_limits.hpp"

#include <algorithm>

namespace sluice::planner {
namespace {

/// Rate of copies through a pinned ring for a profile that does not state them: three threads'
/// memcpy beside the link.
const Bandwidth kUsualStagedCopy{.value = BytesPerSecond(16e9),
                                 .deviation = BytesPerSecond(6e9),
                                 .source = Source::estimated,
                                 .note = "three threads copying into a pinned ring"};

}  // namespace

void limit_link(ResolvedMachine& machine, BytesPerSecond limit) {
  MachineProfile& profile = machine.profile;
  if (limit >= std::max(profile.h2d.value, profile.d2h.value)) return;
  machine.paced = limit;
  const auto hold = [&](LaneKind lane, LaneKind other, Bandwidth& alone, Bandwidth& duplex) {
    const double share = std::min(1.0, limit / alone.value);
    for (auto& pair : profile.interference) {
      if (pair.from != lane || pair.on == other) continue;
      pair.factor.value = 1 - (1 - pair.factor.value) * share;
    }
    // What directions lose to each other follows from what is left of the duplex rates.
    std::erase_if(profile.interference,
                  [&](const auto& pair) { return pair.on == lane && pair.from == other; });
    for (Bandwidth* fact : {&alone, &duplex}) {
      if (fact->value <= limit) continue;
      fact->deviation = fact->deviation * (limit / fact->value);
      fact->value = limit;
      fact->note = "held by limits.link";
    }
  };
  hold(LaneKind::h2d, LaneKind::d2h, profile.h2d, profile.h2d_duplex);
  hold(LaneKind::d2h, LaneKind::h2d, profile.d2h, profile.d2h_duplex);
}

void stage_copies(ResolvedMachine& machine) {
  MachineProfile& profile = machine.profile;
  if (profile.device == DeviceKind::host) return;  // It pins nothing.
  machine.staged = true;
  const bool stated = profile.staged_copy.value > BytesPerSecond(0);
  const Bandwidth& ring = stated ? profile.staged_copy : kUsualStagedCopy;
  for (Bandwidth* rate : {&profile.h2d, &profile.d2h, &profile.h2d_duplex, &profile.d2h_duplex}) {
    if (ring.value < rate->value) *rate = ring;
  }
  for (Fact* traffic : {&profile.h2d_dram, &profile.d2h_dram}) traffic->value += 2;
}

}  // namespace sluice::planner
