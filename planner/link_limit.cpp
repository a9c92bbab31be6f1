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
    // What is left of this direction beside the other, as a share of the limit.
    const double beside = std::min(1.0, (duplex.value > 0 ? duplex.value : alone.value) / limit);
    std::erase_if(profile.interference,
                  [&](const auto& pair) { return pair.on == lane && pair.from == other; });
    for (Fact* fact : {&alone, &duplex}) {
      if (fact->value <= limit) continue;
      fact->value = limit;
      fact->note = "held by limits.link";
    }
    if (beside < 1) duplex.value = beside * alone.value;
  };
  hold("h2d", "d2h", profile.h2d, profile.h2d_duplex);
  hold("d2h", "h2d", profile.d2h, profile.d2h_duplex);
}

}  // namespace sluice::planner
