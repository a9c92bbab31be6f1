// Weighted max-min fair rates of the flows that share links, updated flow by flow.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/frozen_graph.hpp"

namespace sluice::sim {

/// Rates of flows with numbers 0 to slots - 1, computed by progressive filling: all rates rise
/// together, each in proportion to its weight, until its own cap or a full link stops it, while the
/// others go on rising. At the end every flow is at its cap or has a bottleneck: a full link on
/// which no flow has a larger rate / weight (Bertsekas and Gallager, Data Networks, section 6.5.2,
/// here with weights and usage coefficients). Only flows that share links, directly or indirectly,
/// with one that changed are computed again.
class FairShare {
 public:
  FairShare(std::span<const double> link_capacities, std::size_t slots);

  /// Starts the flow with number `slot`. `cap` may be infinite if `uses` is not empty; what `uses`
  /// views must stay alive until stop().
  void start(std::uint32_t slot, double weight, double cap, std::span<const FrozenUse> uses);
  void stop(std::uint32_t slot);
  void set_cap(std::uint32_t slot, double cap);

  /// Brings all rates up to date. Returns the numbers of the flows whose rate changed; the view is
  /// valid until the next update().
  std::span<const std::uint32_t> update();

  [[nodiscard]] double rate(std::uint32_t slot) const { return flows_[slot].rate; }

 private:
  struct FlowState {
    double weight = 1;
    double cap = 0;
    double ceiling = 0;  ///< Level at which the flow reaches its cap: cap / weight.
    double rate = 0;
    double filled = 0;  ///< Rate that the filling in progress has found for the flow.
    std::span<const FrozenUse> uses;
    std::uint64_t visited = 0;
    bool running = false;
    bool stopped_rising = false;
    /// Place among the members of each link in `uses`.
    std::vector<std::uint32_t> places;
  };
  struct Member {
    std::uint32_t slot;
    std::uint32_t use;  ///< Index in the flow's `uses` of its use of this link.
    /// Units of the link per second that the flow uses at level 1: use per unit x weight. A flow's
    /// rate is level x weight.
    double load;
    double rising = 0;  ///< `load` while the flow rises, then 0.
  };
  struct LinkState {
    double capacity = 0;
    double available = 0;  ///< Capacity of the link less what flows use that no longer rise.
    /// Level (rate / weight) at which the link is full if its other flows all go on rising.
    double level = 0;
    bool stale = false;  ///< Whether `level` must be computed again.
    bool dirty = false;
    std::uint64_t visited = 0;
    std::vector<Member> members;
  };
  struct Ceiling {
    double level;
    std::uint32_t slot;
  };

  void touch(std::uint32_t slot);
  void touch_links(std::span<const FrozenUse> uses);
  void gather();
  void sort_ceilings();
  void fill();
  [[nodiscard]] LinkState* tightest_link();
  void stop_rising(FlowState& flow, double rate);
  void stop_uncapped();

  std::vector<FlowState> flows_;
  std::vector<LinkState> links_;
  std::vector<std::uint32_t> dirty_slots_;
  std::vector<std::uint32_t> dirty_links_;
  // Each of these has one entry more than there can be, which gather() and update() write to.
  std::vector<std::uint32_t> component_links_;  ///< Links of the flows being filled.
  std::size_t component_size_ = 0;
  std::vector<Ceiling> ceilings_;  ///< Flows being filled that have a cap.
  std::size_t capped_size_ = 0;
  std::vector<std::uint32_t> uncapped_;  ///< Flows being filled that have none.
  std::size_t uncapped_size_ = 0;
  std::vector<std::uint32_t> changed_;  ///< Flows whose rate changed.

  std::size_t running_ = 0;  ///< Number of flows that have started and not stopped.
  std::size_t rising_ = 0;   ///< Number of the flows being filled that still rise.
  std::uint64_t visit_ = 0;
};

}  // namespace sluice::sim
