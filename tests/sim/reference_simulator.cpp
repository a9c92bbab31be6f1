#include "tests/sim/reference_simulator.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sluice::sim {
namespace {

using Real = long double;
constexpr Real kInfinity = std::numeric_limits<Real>::infinity();

enum class State { waiting, latency, running, ended };

struct Item {
  State state = State::waiting;
  Real begin = 0;      ///< End of its latency.
  Real remaining = 0;  ///< Remaining amount, or seconds of a fixed time.
  Real rate = 0;       ///< Amount per second.
  Real ends_at = kInfinity;
};

class Reference {
 public:
  explicit Reference(const TaskGraph& graph)
      : graph_(graph),
        items_(graph.tasks().size()),
        spans_(graph.tasks().size()),
        held_(graph.pools().size()),
        rest_(graph.lanes().size()),
        lasting_(graph.lanes().size()) {}

  Outcome run() {
    settle_instant();
    while (true) {
      find_rates();
      Real next = kInfinity;
      for (const Item& item : items_) {
        if (item.state == State::latency) {  // An amount of zero has no start, only an end.
          next = std::min(next, item.ends_at < kInfinity ? item.ends_at : item.begin);
        }
        if (item.state == State::running) next = std::min(next, item.ends_at);
      }
      if (next == kInfinity) break;
      for (Item& item : items_) {
        if (item.state == State::running) {
          item.remaining = std::max<Real>(
              0, item.remaining - item.rate * work_in(item_index(item), next - now_) * 1e-9L);
        }
      }
      rest_until(next);
      now_ = next;
      settle_instant();
    }
    for (const Item& item : items_) {
      if (item.state != State::ended) return {.spans = {}, .deadlock = true};
    }
    return {.spans = spans_, .deadlock = false};
  }

 private:
  static Real amount_of(const Task& task) {
    if (const auto* flow = std::get_if<Flow>(&task.work)) return flow->amount.count();
    return std::get<Seconds>(task.work).count();
  }
  static Real round_up(Real ns) { return std::ceil(ns - 1e-6L); }

  /// Handles ends, then releases, then starts in file order, until nothing more happens at `now_`.
  void settle_instant() {
    bool again = true;
    while (again) {
      again = false;
      std::vector<std::size_t> ended;
      for (std::size_t i = 0; i < items_.size(); ++i) {
        Item& item = items_[i];
        const bool timed = item.state == State::running || item.state == State::latency;
        if (timed && item.ends_at <= now_) ended.push_back(i);
        if (item.state == State::latency && item.begin <= now_ && item.ends_at == kInfinity) {
          item.state = State::running;
        }
      }
      for (const std::size_t i : ended) {
        items_[i].state = State::ended;
        spans_[i].second = std::llround(now_);
        again = true;
      }
      for (const std::size_t i : ended) {
        for (const Hold& hold : graph_.tasks()[i].release) {
          held_[index(hold.pool)] -= hold.amount.count();
        }
      }
      if (now_ != std::floor(now_)) continue;
      for (std::size_t i = 0; i < items_.size(); ++i) again |= try_start(i);
    }
  }

  bool try_start(std::size_t i) {
    const Task& task = graph_.tasks()[i];
    Item& item = items_[i];
    if (item.state != State::waiting) return false;
    for (std::size_t k = 0; k < i; ++k) {
      if (graph_.tasks()[k].lane == task.lane && items_[k].state != State::ended) return false;
    }
    for (const TaskId before : task.after) {
      if (items_[index(before)].state != State::ended) return false;
    }
    for (const Hold& hold : task.acquire) {
      const Real capacity = graph_.pools()[index(hold.pool)].capacity.count();
      if (held_[index(hold.pool)] + hold.amount.count() > capacity) return false;
    }
    for (const Hold& hold : task.acquire) held_[index(hold.pool)] += hold.amount.count();
    spans_[i].first = std::llround(now_);
    item.begin = now_ + static_cast<Real>(task.latency.count()) * 1e9L;
    if (std::abs(item.begin - std::round(item.begin)) < 1e-6L) item.begin = std::round(item.begin);
    item.remaining = amount_of(task);
    item.state = item.begin <= now_ && item.remaining > 0 ? State::running : State::latency;
    if (item.remaining == 0) item.ends_at = round_up(item.begin);
    return true;
  }

  std::size_t item_index(const Item& item) const {
    return static_cast<std::size_t>(&item - items_.data());
  }

  /// Work done in `ns` at a rate of 1: the integral of the speed, with the task's share of the
  /// boost.
  Real work_in(std::size_t i, Real ns) const {
    const Task& task = graph_.tasks()[i];
    const Boost* boost = graph_.boost_of(task.lane);
    if (task.boosts == 0 || boost == nullptr) return ns;
    const Real share = task.boosts, gain = share * boost->gain,
               most = 1 + share * (static_cast<Real>(boost->most) - 1);
    const Real window = static_cast<Real>(boost->window.count()) * 1e9L;
    const Real rest = rest_[index(task.lane)];
    const Real enough = (static_cast<Real>(boost->most) - 1) / boost->gain;
    const Real fast = rest > enough ? std::min(ns, window * std::log(rest / enough)) : 0;
    const Real left = std::min(rest, enough);
    const Real slow = ns - fast;
    const Real lasting_window = static_cast<Real>(boost->lasting_window.count()) * 1e9L;
    return most * fast + slow + gain * left * window * (1 - std::exp(-slow / window)) +
           share * boost->lasting_gain * lasting_[index(task.lane)] * lasting_window *
               (1 - std::exp(-ns / lasting_window));
  }

  /// The time for which work_in gives `work`, by bisection between work / (most + lasting_gain) and
  /// work.
  Real time_for(std::size_t i, Real work) const {
    const Task& task = graph_.tasks()[i];
    const Boost* boost = graph_.boost_of(task.lane);
    if (task.boosts == 0 || boost == nullptr || !(work < kInfinity)) return work;
    Real low = work / (boost->most + boost->lasting_gain), high = work;
    for (int step = 0; step < 60; ++step) {
      const Real middle = low + (high - low) / 2;
      (work_in(i, middle) < work ? low : high) = middle;
    }
    return high;
  }

  void rest_until(Real next) {
    for (std::size_t lane = 0; lane < rest_.size(); ++lane) {
      const Boost* boost = graph_.boost_of(LaneId(static_cast<std::uint32_t>(lane)));
      if (boost == nullptr) continue;
      const Real decay =
          std::exp(-(next - now_) / (static_cast<Real>(boost->window.count()) * 1e9L));
      bool runs = false;
      for (std::size_t i = 0; i < items_.size(); ++i) {
        const State state = items_[i].state;
        runs |= index(graph_.tasks()[i].lane) == lane &&
                (state == State::running || state == State::latency);
      }
      rest_[lane] = runs ? rest_[lane] * decay : 1 - (1 - rest_[lane]) * decay;
      const Real lasts =
          std::exp(-(next - now_) / (static_cast<Real>(boost->lasting_window.count()) * 1e9L));
      lasting_[lane] = runs ? lasting_[lane] * lasts : 1 - (1 - lasting_[lane]) * lasts;
    }
  }

  Real cap_of(std::size_t i) const {
    const Task& task = graph_.tasks()[i];
    Real cap = 1;
    if (const auto* flow = std::get_if<Flow>(&task.work)) {
      if (!flow->cap) return kInfinity;
      cap = flow->cap->count();
    }
    for (const Interference& entry : graph_.interference()) {
      if (entry.on != task.lane) continue;
      for (std::size_t k = 0; k < items_.size(); ++k) {
        if (graph_.tasks()[k].lane == entry.from && items_[k].state == State::running) {
          cap *= entry.factor;
        }
      }
    }
    return cap;
  }

  /// Computes rates: raises one level for all flows not yet fixed as far as the links allow, by
  /// bisection; then fixes those at their cap or on a full link; and repeats.
  void find_rates() {
    running_.clear();
    for (std::size_t i = 0; i < items_.size(); ++i) {
      items_[i].rate = 0;
      if (items_[i].state == State::running) running_.push_back(i);
    }
    std::vector<std::size_t> rising = running_;
    while (!rising.empty()) {
      Real low = 0;
      Real high = 1e13L;  // Above any capacity / (use x weight) of these graphs.
      for (int step = 0; step < 110; ++step) {
        const Real level = low + (high - low) / 2;
        raise(rising, level);
        (fullest() <= 1 ? low : high) = level;
      }
      raise(rising, low);
      std::vector<std::size_t> still;
      for (const std::size_t i : rising) {
        const bool stopped = items_[i].rate >= cap_of(i) || meets_full_link(i);
        if (!stopped) still.push_back(i);
      }
      if (still.size() == rising.size()) break;
      rising = std::move(still);
    }
    for (Item& item : items_) {
      if (item.state != State::running) continue;
      item.ends_at = round_up(now_ + time_for(item_index(item), item.remaining / item.rate * 1e9L));
    }
  }

  void raise(const std::vector<std::size_t>& rising, Real level) {
    for (const std::size_t i : rising) {
      const auto* flow = std::get_if<Flow>(&graph_.tasks()[i].work);
      const Real weight = flow != nullptr ? flow->weight : 1;
      items_[i].rate = std::min(cap_of(i), weight * level);
    }
  }
  Real load_of(std::size_t link) const {
    Real load = 0;
    for (const std::size_t i : running_) {
      const auto* flow = std::get_if<Flow>(&graph_.tasks()[i].work);
      if (flow == nullptr) continue;
      for (const Use& use : flow->uses) {
        if (index(use.link) == link) load += items_[i].rate * use.per_unit;
      }
    }
    return load / graph_.links()[link].capacity.count();
  }
  Real fullest() const {
    Real fullest = 0;
    for (std::size_t link = 0; link < graph_.links().size(); ++link) {
      fullest = std::max(fullest, load_of(link));
    }
    return fullest;
  }
  bool meets_full_link(std::size_t i) const {
    const auto* flow = std::get_if<Flow>(&graph_.tasks()[i].work);
    if (flow == nullptr) return false;
    return std::any_of(flow->uses.begin(), flow->uses.end(), [this](const Use& use) {
      return use.per_unit > 0 && load_of(index(use.link)) > 1 - 1e-13L;
    });
  }

  const TaskGraph& graph_;
  std::vector<Item> items_;
  std::vector<std::size_t> running_;
  std::vector<std::pair<std::int64_t, std::int64_t>> spans_;
  std::vector<Real> held_;
  std::vector<Real> rest_, lasting_;  ///< Rest of each lane, short-term and lasting.
  Real now_ = 0;
};

}  // namespace

Outcome reference_outcome(const TaskGraph& graph) { return Reference(graph).run(); }

}  // namespace sluice::sim
