// The event loop: one run over a frozen graph. Call it through sim/simulate.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/boost.hpp"
#include "sim/event_queue.hpp"
#include "sim/fair_share.hpp"
#include "sim/frozen_graph.hpp"
#include "sim/rate_log.hpp"
#include "sim/simulate.hpp"

namespace sluice::sim {

/// One run of the event loop. Time is an integer number of nanoseconds, plus a fraction while a
/// latency ends between two instants: rates change there, but tasks end only at instants, rounded
/// up. A flow keeps its rate until the instant at which its task ends.
///
/// Order at one instant: ends (and latencies that end), then releases, then starts in file order;
/// tasks of no length that started end in the next pass over the same instant. Then rates are
/// shared. After the first few events nothing is allocated.
class Simulation {
 public:
  /// Prepares a run over `graph`, which must outlive it. Changes of rates are appended to `log`,
  /// which may be null.
  Simulation(const FrozenGraph& graph, std::vector<RateChange>* log);
  Timeline run();

 private:
  enum class Phase : std::uint8_t { idle, latency, flowing, fixed };
  struct LaneState {
    std::uint32_t task = 0;  ///< The task that runs on the lane, or waits at its head.
    Phase phase = Phase::idle;
    bool waits_for_pool = false;
    std::int64_t start = 0;
    std::int64_t since = 0;  ///< Instant, plus since_fraction, at which `remaining` was computed.
    double since_fraction = 0;
    /// Amount that the running task has left, times 1e9, so that dividing by its rate gives
    /// nanoseconds.
    double remaining = 0;
    double rate = 0;
    /// Share of the lane's boost by which the running task gets faster (FrozenTask::boosts).
    double boosts = 0;
  };
  /// Rest of one lane that has a boost.
  struct RestState {
    LaneRest rest;
    std::int64_t since = 0;  ///< Instant, plus since_fraction, at which `rest` was updated.
    double since_fraction = 0;
  };
  struct PoolState {
    double capacity = 0;
    /// Rounding error that the sum of fractional amounts may have, by which `held` may exceed
    /// `capacity`.
    double slack = 0;
    double held = 0;
    double peak = 0;
    std::vector<std::uint32_t> waiting;
  };

  void start_round();
  void end_due();
  void end(std::uint32_t lane);
  void enable(std::uint32_t waiting, std::uint32_t task);
  void release(std::uint32_t task);
  void start_ready();
  bool acquire(std::uint32_t task);
  void start(std::uint32_t task);
  void activate(std::uint32_t lane);
  void deactivate(std::uint32_t lane);
  void slow_others(std::uint32_t lane);
  [[nodiscard]] double cap_of(std::uint32_t lane) const;
  [[nodiscard]] bool runs_undisturbed(std::uint32_t task) const;
  void share();
  /// Work done in the `passed` nanoseconds since the lane's last update, at a rate of 1.
  [[nodiscard]] double progress(std::uint32_t lane, double passed) const {
    return lanes_[lane].boosts > 0 ? boosted_progress(lane, passed) : passed;
  }
  /// Nanoseconds in which the lane does `work` at a rate of 1.
  [[nodiscard]] double time_for(std::uint32_t lane, double work) const {
    return lanes_[lane].boosts > 0 ? boosted_time_for(lane, work) : work;
  }
  [[nodiscard]] double boosted_progress(std::uint32_t lane, double passed) const;
  [[nodiscard]] double boosted_time_for(std::uint32_t lane, double work) const;
  void bring_rest_up_to_now(std::uint32_t lane, bool ran) {
    if (!rests_.empty() && rests_[lane]) update_rest(*rests_[lane], ran);
  }
  void update_rest(RestState& state, bool ran) const;
  void expire_latencies(std::int64_t key);
  [[noreturn]] void report_stuck() const;
  [[noreturn]] void report_far() const;

  const FrozenGraph& graph_;
  std::vector<RateChange>* log_;
  Timeline timeline_;
  EventQueue queue_;
  FairShare shares_;
  std::vector<LaneState> lanes_;
  /// Rest by lane, none for a lane without boost; empty if no lane has one.
  std::vector<std::optional<RestState>> rests_;
  std::vector<PoolState> pools_;
  /// Number of tasks that have not ended yet and that a task waits for, by task: its predecessors,
  /// and the task before it on its lane.
  std::vector<std::uint32_t> pending_;
  std::vector<std::uint32_t> due_;  ///< Lanes whose task ends at the present instant.
  /// Tasks that may start at the present instant if pools have room.
  std::vector<std::uint32_t> ready_;
  std::vector<std::uint32_t> expired_;
  std::int64_t now_ = 0;
  double fraction_ = 0;
  std::size_t ended_ = 0;
};

}  // namespace sluice::sim
