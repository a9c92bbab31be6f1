#include "sim/fair_share.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace sluice::sim {
namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
}

FairShare::FairShare(std::span<const double> link_capacities, std::size_t slots)
    : flows_(slots), links_(link_capacities.size()) {
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
  flow.rate = 0;
  flow.uses = uses;
  flow.running = true;
  for (const FrozenUse& use : uses) {
    links_[use.link].members.push_back({slot, use.per_unit * weight});
  }
  touch(slot);
}

void FairShare::stop(std::uint32_t slot) {
  FlowState& flow = flows_[slot];
  flow.running = false;
  for (const FrozenUse& use : flow.uses) {
    std::vector<Member>& members = links_[use.link].members;
    const auto member = std::find_if(members.begin(), members.end(),
                                     [slot](const Member& m) { return m.slot == slot; });
    *member = members.back();
    members.pop_back();
  }
  touch_links(flow.uses);
  flow.uses = {};
}

void FairShare::set_cap(std::uint32_t slot, double cap) {
  if (flows_[slot].cap == cap) return;
  flows_[slot].cap = cap;
  touch(slot);
}

void FairShare::gather_links_of(const FlowState& flow) {
  for (const FrozenUse& use : flow.uses) {
    LinkState& link = links_[use.link];
    if (link.visited == visit_) continue;
    link.visited = visit_;
    component_links_.push_back(use.link);
  }
}

/// Collects the flows and links connected to whatever changed, into ceilings_ and component_links_.
void FairShare::gather() {
  ++visit_;
  component_links_.clear();
  ceilings_.clear();
  const auto visit = [this](std::uint32_t slot) {
    FlowState& flow = flows_[slot];
    if (flow.visited == visit_ || !flow.running) return;
    flow.visited = visit_;
    flow.stopped_rising = false;
    ceilings_.push_back({flow.cap / flow.weight, slot});
    gather_links_of(flow);
  };
  for (const std::uint32_t link : dirty_links_) {
    links_[link].dirty = false;
    if (links_[link].visited == visit_) continue;
    links_[link].visited = visit_;
    component_links_.push_back(link);
  }
  for (const std::uint32_t slot : dirty_slots_) visit(slot);
  for (std::size_t i = 0; i < component_links_.size(); ++i) {
    LinkState& link = links_[component_links_[i]];
    link.available = link.capacity;
    link.stale = true;
    for (const Member& member : link.members) visit(member.slot);
  }
  dirty_links_.clear();
  dirty_slots_.clear();
}

void FairShare::sort_ceilings() {
  // Insertion sort is faster than std::sort below about this many.
  constexpr std::size_t kFew = 24;
  if (ceilings_.size() > kFew) {
    std::sort(ceilings_.begin(), ceilings_.end(),
              [](const Ceiling& a, const Ceiling& b) { return a.level < b.level; });
    return;
  }
  for (std::size_t i = 1; i < ceilings_.size(); ++i) {
    const Ceiling moved = ceilings_[i];
    std::size_t place = i;
    for (; place > 0 && moved.level < ceilings_[place - 1].level; --place) {
      ceilings_[place] = ceilings_[place - 1];
    }
    ceilings_[place] = moved;
  }
}

/// Level at which a link fills up. It is summed from scratch: subtracting flows that stopped would
/// lose small loads beside large ones.
double FairShare::level_of(const LinkState& link) const {
  double load = 0;
  for (const Member& member : link.members) {
    if (!flows_[member.slot].stopped_rising) load += member.load;
  }
  return load > 0 ? link.available / load : kInfinity;
}

void FairShare::stop_rising(FlowState& flow, double rate) {
  flow.stopped_rising = true;
  flow.filled = rate;
  for (const FrozenUse& use : flow.uses) {
    LinkState& link = links_[use.link];
    link.available -= use.per_unit * rate;
    link.stale = true;
  }
}

void FairShare::fill() {
  sort_ceilings();
  std::size_t next = 0;
  double level = 0;
  while (next < ceilings_.size()) {
    double full_at = kInfinity;
    const LinkState* tightest = nullptr;
    for (const std::uint32_t id : component_links_) {
      LinkState& link = links_[id];
      if (std::exchange(link.stale, false)) link.level = level_of(link);
      if (link.level < full_at) {
        full_at = link.level;
        tightest = &link;
      }
    }
    full_at = std::max(full_at, level);  // Rounding never lowers the level.
    // A flow that stops below the level at which links fill up only raises that level.
    bool capped = false;
    for (; next < ceilings_.size(); ++next) {
      FlowState& flow = flows_[ceilings_[next].slot];
      if (flow.stopped_rising) continue;
      if (ceilings_[next].level > full_at) break;
      level = ceilings_[next].level;
      stop_rising(flow, flow.cap);
      capped = true;
    }
    if (capped || tightest == nullptr) continue;
    level = full_at;
    for (const Member& member : tightest->members) {
      FlowState& flow = flows_[member.slot];
      if (!flow.stopped_rising) stop_rising(flow, flow.weight * level);
    }
  }
}

std::span<const std::uint32_t> FairShare::update() {
  changed_.clear();
  if (dirty_slots_.empty() && dirty_links_.empty()) return changed_;
  gather();
  fill();
  for (const Ceiling& ceiling : ceilings_) {
    FlowState& flow = flows_[ceiling.slot];
    if (flow.filled == flow.rate) continue;
    flow.rate = flow.filled;
    changed_.push_back(ceiling.slot);
  }
  return changed_;
}

}  // namespace sluice::sim
