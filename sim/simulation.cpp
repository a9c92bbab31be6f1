#include "sim/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "sim/error.hpp"

namespace sluice::sim {
namespace {

constexpr double kScale = 1e9;  // Nanoseconds per second.
/// Ends beyond this many nanoseconds (126 years) are refused.
constexpr double kFarthest = 4e18;
constexpr EventQueue::Key kFar = EventQueue::kNever - 1;

/// Largest rounding error of `ns` nanoseconds in floating point; an end that close above an instant
/// counts as at it.
double rounding_guard(double ns) { return 1e-6 + 2e-14 * ns; }

/// Time `from` + `ns`, rounded up, as a key of the queue: twice the instant, plus one for a time
/// between it and the next.
EventQueue::Key end_key(std::int64_t from, double ns, double elapsed) {
  const double time = ns - rounding_guard(elapsed);
  if (!(time < kFarthest)) return kFar;
  // std::ceil is a call where the processor need not have an instruction for it.
  auto whole = static_cast<std::int64_t>(time);
  whole += static_cast<double>(whole) < time ? 1 : 0;
  if (!(static_cast<double>(whole) + static_cast<double>(from) < kFarthest)) return kFar;
  return 2 * (from + std::max<std::int64_t>(0, whole));
}

Instant at(std::int64_t ns) { return Instant(Duration(ns)); }

}  // namespace

Simulation::Simulation(const FrozenGraph& graph, std::vector<RateChange>* log)
    : graph_(graph),
      log_(log),
      queue_(graph.lane_count()),
      shares_(graph.link_capacities(), graph.lane_count()),
      lanes_(graph.lane_count()),
      pools_(graph.pool_count()),
      pending_(graph.waits()) {
  timeline_.spans.resize(graph.task_count());
  timeline_.enabled_by.resize(graph.task_count());
  timeline_.lane_busy.resize(graph.lane_count());
  timeline_.link_moved.resize(graph.link_count());
  timeline_.pool_peak.resize(graph.pool_count());
  if (!graph.boosts().empty()) rests_.resize(graph.lane_count());
  for (const FrozenBoost& boost : graph.boosts()) {
    rests_[boost.lane].emplace(RestState{.rest = LaneRest(boost.rule)});
  }
  for (std::size_t i = 0; i < pools_.size(); ++i) {
    pools_[i].capacity = graph.pool_capacities()[i];
    pools_[i].slack = std::min(1e-12 * pools_[i].capacity, 1e-3);
  }
}

Timeline Simulation::run() {
  for (std::uint32_t lane = 0; lane < lanes_.size(); ++lane) {
    const std::uint32_t first = graph_.first_in_lane(lane);
    lanes_[lane].task = first;
    if (first != FrozenGraph::kNone && pending_[first] == 0) ready_.push_back(first);
  }
  start_round();
  EventQueue::Key key = queue_.least();
  for (; key < kFar; key = queue_.least()) {
    now_ = key / 2;
    expire_latencies(key);
    if (key % 2 == 0) {
      start_round();
    } else {
      share();
      fraction_ = 0;
    }
  }
  if (key == kFar) report_far();
  if (ended_ != graph_.task_count()) report_stuck();
  for (std::size_t i = 0; i < pools_.size(); ++i) timeline_.pool_peak[i] = Amount(pools_[i].peak);
  return std::move(timeline_);
}

/// Handles tasks whose event is now: those at the end of their latency begin to flow, the others
/// are due to end.
void Simulation::expire_latencies(EventQueue::Key key) {
  expired_.clear();
  queue_.collect(key, expired_);
  if (key % 2 != 0) {  // Between instants only the earliest is handled; the others keep their key.
    double earliest = 1;
    for (const std::uint32_t lane : expired_) {
      earliest = std::min(earliest, lanes_[lane].since_fraction);
    }
    fraction_ = earliest;
  }
  for (const std::uint32_t lane : expired_) {
    if (lanes_[lane].phase != Phase::latency) {
      due_.push_back(lane);
    } else if (lanes_[lane].since_fraction == fraction_) {
      activate(lane);
    }
  }
}

void Simulation::start_round() {
  do {
    end_due();
    start_ready();
  } while (!due_.empty());
  share();
}

void Simulation::end_due() {
  if (due_.size() > 1) {
    std::sort(due_.begin(), due_.end(),
              [this](std::uint32_t a, std::uint32_t b) { return lanes_[a].task < lanes_[b].task; });
  }
  for (std::uint32_t& lane : due_) {
    const std::uint32_t task = lanes_[lane].task;
    end(lane);
    lane = task;
  }
  for (const std::uint32_t task : due_) release(task);
  due_.clear();
}

/// Counts the end of `task` for one that waits for it, which it enables unless another task that
/// ended at this instant did before: among several, the first in file order counts, predecessors
/// before the lane.
void Simulation::enable(std::uint32_t waiting, std::uint32_t task) {
  std::optional<TaskId>& enabler = timeline_.enabled_by[waiting];
  const bool later = !enabler || timeline_.spans[index(*enabler)].end != at(now_);
  if (later) enabler = TaskId(task);
  if (--pending_[waiting] == 0) ready_.push_back(waiting);
}

void Simulation::end(std::uint32_t lane) {
  LaneState& state = lanes_[lane];
  const std::uint32_t task = state.task;
  const FrozenTask& record = graph_.task(task);
  timeline_.spans[task] = {at(state.start), at(now_)};
  timeline_.lane_busy[lane] += Duration(now_ - state.start);
  timeline_.makespan = Duration(now_);
  for (const FrozenUse& use : graph_.uses(task)) {
    timeline_.link_moved[use.link] += Amount(record.amount * use.per_unit);
  }
  ++ended_;
  bring_rest_up_to_now(lane, true);
  if (state.phase == Phase::flowing) deactivate(lane);
  state.phase = Phase::idle;
  state.task = record.next_in_lane;
  queue_.set(lane, EventQueue::kNever);
  if (state.task != FrozenGraph::kNone) enable(state.task, task);
  for (const std::uint32_t successor : graph_.successors(task)) enable(successor, task);
}

void Simulation::release(std::uint32_t task) {
  for (const FrozenHold& hold : graph_.releases(task)) {
    PoolState& pool = pools_[hold.pool];
    if (hold.amount > pool.held + pool.slack) {
      throw BadRequest("task \"" + std::string(graph_.task_id(task)) +
                       "\" releases more of pool \"" + graph_.pool_name(hold.pool) +
                       "\" than is held then; acquire it in a task that starts before");
    }
    pool.held = std::max(0.0, pool.held - hold.amount);
    for (const std::uint32_t waiting : pool.waiting) {
      timeline_.enabled_by[waiting] = TaskId(task);
      lanes_[graph_.task(waiting).lane].waits_for_pool = false;
      ready_.push_back(waiting);
    }
    pool.waiting.clear();
  }
}

void Simulation::start_ready() {
  if (ready_.size() > 1) std::sort(ready_.begin(), ready_.end());
  for (const std::uint32_t task : ready_) {
    if (acquire(task)) start(task);
  }
  ready_.clear();
}

/// Acquires all that a task needs, or nothing; a task that finds a pool full waits for the next
/// release into it.
bool Simulation::acquire(std::uint32_t task) {
  const std::span<const FrozenHold> holds = graph_.acquires(task);
  for (const FrozenHold& hold : holds) {
    PoolState& pool = pools_[hold.pool];
    if (pool.held + hold.amount > pool.capacity + pool.slack) {
      pool.waiting.push_back(task);
      lanes_[graph_.task(task).lane].waits_for_pool = true;
      return false;
    }
  }
  for (const FrozenHold& hold : holds) {
    PoolState& pool = pools_[hold.pool];
    pool.held += hold.amount;
    pool.peak = std::max(pool.peak, pool.held);
  }
  return true;
}

/// Whether a task has no link, interference or boost, so that its end is known at its start.
bool Simulation::runs_undisturbed(std::uint32_t task) const {
  const std::uint32_t lane = graph_.task(task).lane;
  return log_ == nullptr && graph_.uses(task).empty() && graph_.slowed_by(lane).empty() &&
         graph_.slows(lane).empty() && (rests_.empty() || !rests_[lane]);
}

void Simulation::start(std::uint32_t task) {
  const FrozenTask& record = graph_.task(task);
  LaneState& lane = lanes_[record.lane];
  lane.start = now_;
  graph_.prefetch_behind(record);
  bring_rest_up_to_now(record.lane, false);
  if (record.amount == 0 || runs_undisturbed(task)) {
    lane.phase = Phase::fixed;
    const double ns = record.latency_ns + (record.amount * kScale) / record.cap;
    const EventQueue::Key key = record.amount == 0
                                    ? end_key(now_, record.latency_ns, record.latency_ns)
                                    : end_key(now_, ns, ns);
    if (key == 2 * now_) {
      due_.push_back(record.lane);
    } else {
      queue_.set(record.lane, key);
    }
    return;
  }
  if (record.latency_ns == 0) {
    activate(record.lane);
    return;
  }
  const double guard = rounding_guard(record.latency_ns);
  const double whole = std::floor(record.latency_ns + guard);
  const double rest = record.latency_ns - whole;
  lane.since_fraction = rest > guard ? rest : 0;
  if (whole == 0 && lane.since_fraction == 0) {
    activate(record.lane);
    return;
  }
  lane.phase = Phase::latency;
  const bool far = !(whole + static_cast<double>(now_) < kFarthest);
  queue_.set(record.lane, far ? kFar
                              : 2 * (now_ + static_cast<std::int64_t>(whole)) +
                                    (lane.since_fraction > 0 ? 1 : 0));
}

/// Largest rate of the task that runs on the lane, under the present interference.
double Simulation::cap_of(std::uint32_t lane) const {
  double cap = graph_.task(lanes_[lane].task).cap;
  if (std::isinf(cap)) return cap;
  for (const FrozenInterference& entry : graph_.slowed_by(lane)) {
    if (lanes_[entry.lane].phase == Phase::flowing) cap *= entry.factor;
  }
  return cap;
}

void Simulation::slow_others(std::uint32_t lane) {
  for (const FrozenInterference& entry : graph_.slows(lane)) {
    if (lanes_[entry.lane].phase == Phase::flowing) {
      shares_.set_cap(entry.lane, cap_of(entry.lane));
    }
  }
}

void Simulation::activate(std::uint32_t lane) {
  LaneState& state = lanes_[lane];
  const FrozenTask& record = graph_.task(state.task);
  bring_rest_up_to_now(lane, true);
  state.phase = Phase::flowing;
  state.boosts = record.boosts;
  state.since = now_;
  state.since_fraction = fraction_;
  state.remaining = record.amount * kScale;
  state.rate = 0;
  queue_.set(lane, EventQueue::kNever);
  shares_.start(lane, record.weight, cap_of(lane), graph_.uses(state.task));
  slow_others(lane);
}

void Simulation::deactivate(std::uint32_t lane) {
  lanes_[lane].phase = Phase::idle;
  shares_.stop(lane);
  slow_others(lane);
}

void Simulation::share() {
  for (const std::uint32_t lane : shares_.update()) {
    LaneState& state = lanes_[lane];
    const double passed =
        static_cast<double>(now_ - state.since) + (fraction_ - state.since_fraction);
    state.remaining = std::max(0.0, state.remaining - state.rate * progress(lane, passed));
    bring_rest_up_to_now(lane, true);
    state.since = now_;
    state.since_fraction = fraction_;
    state.rate = shares_.rate(lane);
    EventQueue::Key key = EventQueue::kNever;
    if (state.rate > 0) {
      const double ns = fraction_ + time_for(lane, state.remaining / state.rate);
      key = end_key(now_, ns, static_cast<double>(now_ - state.start) + ns);
    }
    queue_.set(lane, key);
    if (log_ != nullptr) {
      log_->push_back({TaskId(state.task), at(now_), fraction_, Rate(state.rate)});
    }
  }
}

Timeline simulate(const FrozenGraph& graph) { return Simulation(graph, nullptr).run(); }

Timeline simulate(const FrozenGraph& graph, std::vector<RateChange>& log) {
  return Simulation(graph, &log).run();
}

Timeline simulate(const TaskGraph& graph) { return simulate(freeze(graph)); }

}  // namespace sluice::sim
