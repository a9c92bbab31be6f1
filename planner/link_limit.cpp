#include "planner/link_limit.hpp"

#include <algorithm>

namespace sluice::planner {

void limit_link(ResolvedMachine& machine, BytesPerSecond rate) {
  MachineProfile& profile = machine.profile;
  const double limit = rate.count();
  if (limit >= std::max(profile.h2d.value, profile.d2h.value)) return;
  machine.paced = rate;
  const auto hold = [&](const char* lane, const char* other, Fact& alone, Fact& duplex) {
    const double share = std::min(1.0, limit / alone.value);
    for (auto& pair : profile.interference) {
      if (pair.from != lane || pair.on == other) continue;
      pair.factor.value = 1 - (1 - pair.factor.value) * share;
    }
    // What directions lose to each other follows from what is left of the duplex rates.
    std::erase_if(profile.interference,
                  [&](const auto& pair) { return pair.on == lane && pair.from == other; });
    for (Fact* fact : {&alone, &duplex}) {
      if (fact->value <= limit) continue;
      fact->value = limit;
      fact->note = "held by limits.link";
    }
  };
  hold("h2d", "d2h", profile.h2d, profile.h2d_duplex);
  hold("d2h", "h2d", profile.d2h, profile.d2h_duplex);
}

}  // namespace sluice::planner
