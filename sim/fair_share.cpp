#include "sim/fair_share.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace sluice::sim {
namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
}

FairShare::FairShare(std::span<const double> link_capacities, std::size_t slots)
    : flows_(slots),
      links_(link_capacities.size()),
      component_links_(link_capacities.size() + 1),
      ceilings_(slots + 1),
      uncapped_(slots + 1),
      changed_(slots + 1) {
  for (std::size_t i = 0; i < links_.size(); ++i) links_[i].capacity = link_capacities[i];
}

void FairShare::touch(std::uint32_t slot) {
  dirty_slots_.push_back(slot);
  touch_links(flows_[slot].uses);
}

void FairShare::touch_links(std::span<const FrozenUse> uses) {
  for (const FrozenUse& use : uses) {
    if (!std::exchange(links_[use.link].dirty, true)) dirty_links_.push_back(use.link);
  }
}

void FairShare::start(std::uint32_t slot, double weight, double cap,
                      std::span<const FrozenUse> uses) {
  FlowState& flow = flows_[slot];
  flow.weight = weight;
  flow.cap = cap;
  flow.ceiling = cap / weight;
  flow.rate = 0;
  flow.uses = uses;
  flow.running = true;
  ++running_;
  flow.places.resize(uses.size());
  for (std::uint32_t i = 0; i < uses.size(); ++i) {
    LinkState& link = links_[uses[i].link];
    flow.places[i] = static_cast<std::uint32_t>(link.members.size());
    link.members.push_back({.slot = slot, .use = i, .load = uses[i].per_unit * weight});
  }
  touch(slot);
}

void FairShare::stop(std::uint32_t slot) {
  FlowState& flow = flows_[slot];
  flow.running = false;
  --running_;
  for (std::uint32_t i = 0; i < flow.uses.size(); ++i) {
    LinkState& link = links_[flow.uses[i].link];
    const std::uint32_t place = flow.places[i];
    const Member last = link.members.back();
    link.members[place] = last;
    flows_[last.slot].places[last.use] = place;
    link.members.pop_back();
  }
  touch_links(flow.uses);
  flow.uses = {};
}

void FairShare::set_cap(std::uint32_t slot, double cap) {
  if (flows_[slot].cap == cap) return;
  flows_[slot].cap = cap;
  flows_[slot].ceiling = cap / flows_[slot].weight;
  touch(slot);
}

/// Collects the flows and links connected to whatever changed, into ceilings_, uncapped_ and
/// component_links_.
void FairShare::gather() {
  ++visit_;
  // Counted in local variables, which stay in registers, and without branches where half of the
  // cases go either way: this runs at every event.
  const std::uint64_t visit = visit_;
  std::uint32_t* const links = component_links_.data();
  Ceiling* const ceilings = ceilings_.data();
  std::uint32_t* const uncapped = uncapped_.data();
  std::size_t link_count = 0, capped_count = 0, uncapped_count = 0;
  const auto gather_link = [&](std::uint32_t id) {
    LinkState& link = links_[id];
    links[link_count] = id;
    link_count += link.visited != visit ? 1 : 0;
    link.visited = visit;
  };
  const auto gather_flow = [&](std::uint32_t slot) {
    FlowState& flow = flows_[slot];
    if (flow.visited == visit) return;
    flow.visited = visit;
    flow.stopped_rising = false;
    const std::size_t has_cap = flow.cap < kInfinity ? 1 : 0;
    ceilings[capped_count] = {flow.ceiling, slot};
    uncapped[uncapped_count] = slot;
    capped_count += has_cap;
    uncapped_count += 1 - has_cap;
    for (const FrozenUse& use : flow.uses) gather_link(use.link);
  };
  for (const std::uint32_t link : dirty_links_) {
    links_[link].dirty = false;
    gather_link(link);
  }
  for (const std::uint32_t slot : dirty_slots_) {
    if (flows_[slot].running) gather_flow(slot);
  }
  for (std::size_t i = 0; i < link_count; ++i) {
    LinkState& link = links_[links[i]];
    link.available = link.capacity;
    link.stale = true;
    if (capped_count + uncapped_count == running_) {  // No flow is left to gather.
      for (Member& member : link.members) member.rising = member.load;
      continue;
    }
    for (Member& member : link.members) {
      member.rising = member.load;
      gather_flow(member.slot);
    }
  }
  component_size_ = link_count;
  capped_size_ = capped_count;
  uncapped_size_ = uncapped_count;
  dirty_links_.clear();
  dirty_slots_.clear();
}

void FairShare::sort_ceilings() {
  // Below these counts: each ceiling's rank by comparing all pairs, which takes no branches, and
  // insertion; both are stable.
  constexpr std::size_t kVeryFew = 16, kFew = 24;
  const std::span<Ceiling> ceilings(ceilings_.data(), capped_size_);
  const std::size_t count = ceilings.size();
  if (count > kFew) {
    std::sort(ceilings.begin(), ceilings.end(),
              [](const Ceiling& a, const Ceiling& b) { return a.level < b.level; });
    return;
  }
  if (count > kVeryFew) {
    for (std::size_t i = 1; i < count; ++i) {
      const Ceiling moved = ceilings[i];
      std::size_t place = i;
      for (; place > 0 && moved.level < ceilings[place - 1].level; --place) {
        ceilings[place] = ceilings[place - 1];
      }
      ceilings[place] = moved;
    }
    return;
  }
  std::array<Ceiling, kVeryFew> unsorted;
  std::array<std::uint32_t, kVeryFew> rank{};
  std::copy(ceilings.begin(), ceilings.end(), unsorted.begin());
  for (std::size_t i = 1; i < count; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const auto before = static_cast<std::uint32_t>(unsorted[i].level < unsorted[j].level);
      rank[j] += before;
      rank[i] += 1 - before;
    }
  }
  for (std::size_t i = 0; i < count; ++i) ceilings[rank[i]] = unsorted[i];
}

/// Link being filled that is full at the lowest level; null if no flow rises on any.
FairShare::LinkState* FairShare::tightest_link() {
  double full_at = kInfinity;
  LinkState* tightest = nullptr;
  for (std::size_t i = 0; i < component_size_; ++i) {
    LinkState& link = links_[component_links_[i]];
    if (std::exchange(link.stale, false)) {
      // Summed from scratch: subtracting flows that stopped would lose small loads beside large.
      double load = 0;
      for (const Member& member : link.members) load += member.rising;
      link.level = load > 0 ? link.available / load : kInfinity;
    }
    if (link.level < full_at) {
      full_at = link.level;
      tightest = &link;
    }
  }
  return tightest;
}

void FairShare::stop_rising(FlowState& flow, double rate) {
  flow.stopped_rising = true;
  flow.filled = rate;
  --rising_;
  for (std::size_t i = 0; i < flow.uses.size(); ++i) {
    LinkState& link = links_[flow.uses[i].link];
    link.available -= flow.uses[i].per_unit * rate;
    link.members[flow.places[i]].rising = 0;
    link.stale = true;
  }
}

/// Stops what no link limits, because its use of them is too small for a floating-point number.
void FairShare::stop_uncapped() {
  for (std::size_t i = 0; i < uncapped_size_; ++i) {
    const std::uint32_t slot = uncapped_[i];
    if (!flows_[slot].stopped_rising) stop_rising(flows_[slot], flows_[slot].cap);
  }
}

void FairShare::fill() {
  sort_ceilings();
  std::size_t next = 0;
  double level = 0;
  rising_ = capped_size_ + uncapped_size_;
  while (rising_ > 0) {
    const LinkState* tightest = tightest_link();
    // Rounding never lowers the level.
    const double full_at = std::max(tightest != nullptr ? tightest->level : kInfinity, level);
    // A flow that stops below the level at which links fill up only raises that level.
    bool capped = false;
    for (; next < capped_size_; ++next) {
      FlowState& flow = flows_[ceilings_[next].slot];
      if (flow.stopped_rising) continue;
      if (ceilings_[next].level > full_at) break;
      level = ceilings_[next].level;
      stop_rising(flow, flow.cap);
      capped = true;
    }
    if (capped) continue;
    if (tightest == nullptr) {
      stop_uncapped();
      return;
    }
    level = full_at;
    for (const Member& member : tightest->members) {
      FlowState& flow = flows_[member.slot];
      if (!flow.stopped_rising) stop_rising(flow, flow.weight * level);
    }
  }
}

std::span<const std::uint32_t> FairShare::update() {
  if (dirty_slots_.empty() && dirty_links_.empty()) return {};
  gather();
  fill();
  std::size_t changed = 0;
  // Without a branch, which every other flow would mispredict.
  const auto adopt = [this, &changed](std::uint32_t slot) {
    FlowState& flow = flows_[slot];
    changed_[changed] = slot;
    changed += flow.filled != flow.rate ? 1 : 0;
    flow.rate = flow.filled;
  };
  for (std::size_t i = 0; i < capped_size_; ++i) adopt(ceilings_[i].slot);
  for (std::size_t i = 0; i < uncapped_size_; ++i) adopt(uncapped_[i]);
  return {changed_.data(), changed};
}

}  // namespace sluice::sim
