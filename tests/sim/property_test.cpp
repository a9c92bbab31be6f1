// Properties of every graph, tested on seeded random ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sim/error.hpp"
#include "sim/frozen_graph.hpp"
#include "sim/rate_log.hpp"
#include "sim/result_json.hpp"
#include "tests/sim/random_graph.hpp"

namespace sluice::sim {
namespace {

constexpr std::uint64_t kSeeds = 200;

/// Calls `claim(graph, frozen, timeline)` for the random graphs that run to the end.
template <class Claim>
void for_random_graphs(const Claim& claim, const RandomGraphOptions& options = {}) {
  std::size_t finished = 0;
  for (std::uint64_t seed = 1000; seed < 1000 + kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const TaskGraph graph = random_graph(seed, options);
    const FrozenGraph frozen = freeze(graph);
    std::optional<Timeline> timeline;
    try {
      timeline = simulate(frozen);
    } catch (const BadRequest&) {
      continue;
    }
    ++finished;
    claim(graph, frozen, *timeline);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(finished, kSeeds / 2);
}

TEST(Property, TheRatesOfATaskIntegrateToItsAmount) {
  for_random_graphs([](const TaskGraph& graph, const FrozenGraph& frozen, const Timeline& plain) {
    std::vector<RateChange> log;
    const Timeline timeline = simulate(frozen, log);
    EXPECT_EQ(outcome(timeline), outcome(plain)) << "logging changes nothing";
    std::vector<double> moved(graph.tasks().size());
    std::vector<double> since(graph.tasks().size());
    std::vector<double> rate(graph.tasks().size());
    const auto advance = [&](std::size_t task, double now) {
      moved[task] += rate[task] * (now - since[task]) * 1e-9;
      since[task] = now;
    };
    for (const RateChange& change : log) {
      const std::size_t task = index(change.task);
      advance(task, static_cast<double>(change.at.time_since_epoch().count()) + change.fraction_ns);
      rate[task] = change.rate.count();
    }
    for (std::size_t i = 0; i < moved.size(); ++i) {
      advance(i, static_cast<double>(timeline.spans[i].end.time_since_epoch().count()));
      const auto* flow = std::get_if<Flow>(&graph.tasks()[i].work);
      const double amount =
          flow != nullptr ? flow->amount.count() : std::get<Seconds>(graph.tasks()[i].work).count();
      const double slack = 1e-9 * amount + rate[i] * 1e-14;
      EXPECT_GE(moved[i], amount - slack) << graph.tasks()[i].id;
      EXPECT_LE(moved[i], amount + slack + rate[i] * 1e-9) << "an end rounds up by under 1 ns";
    }
  });
}

TEST(Property, MovedIsAmountTimesUse) {
  for_random_graphs([](const TaskGraph& graph, const FrozenGraph&, const Timeline& timeline) {
    std::vector<double> moved(graph.links().size());
    for (const Task& task : graph.tasks()) {
      const auto* flow = std::get_if<Flow>(&task.work);
      if (flow == nullptr) continue;
      for (const Use& use : flow->uses)
        moved[index(use.link)] += flow->amount.count() * use.per_unit;
    }
    for (std::size_t i = 0; i < moved.size(); ++i) {
      EXPECT_NEAR(timeline.link_moved[i].count(), moved[i], 1e-9 * moved[i]);
    }
  });
}

TEST(Property, NoLinkIsEverUsedBeyondItsCapacity) {
  for_random_graphs([](const TaskGraph& graph, const FrozenGraph&, const Timeline&) {
    for (const LinkUse& use : link_use(graph)) {
      EXPECT_LE(use.used.count(), graph.links()[index(use.link)].capacity.count() * (1 + 1e-12));
    }
  });
}

// Rates are max-min fair if and only if every flow is at its cap or has a bottleneck: a full link
// on which no other flow has a larger rate / weight.
TEST(Property, EveryFlowIsAtItsCapOrHasABottleneck) {
  const auto claim = [](const TaskGraph& graph, const FrozenGraph& frozen, const Timeline&) {
    std::vector<RateChange> log;
    const Timeline timeline = simulate(frozen, log);
    std::vector<double> rate(graph.tasks().size());
    for (std::size_t i = 0; i < log.size(); ++i) {
      rate[index(log[i].task)] = log[i].rate.count();
      const bool more_to_come = i + 1 < log.size() && log[i + 1].at == log[i].at;
      if (more_to_come || log[i].fraction_ns != 0) continue;
      const auto runs = [&](std::size_t task) {
        return rate[task] > 0 && timeline.spans[task].end > log[i].at;
      };
      std::vector<double> used(graph.links().size());
      std::vector<double> highest(graph.links().size());
      for (std::size_t task = 0; task < rate.size(); ++task) {
        const auto* flow = std::get_if<Flow>(&graph.tasks()[task].work);
        if (flow == nullptr || !runs(task)) continue;
        for (const Use& use : flow->uses) {
          used[index(use.link)] += rate[task] * use.per_unit;
          highest[index(use.link)] = std::max(highest[index(use.link)], rate[task] / flow->weight);
        }
      }
      for (std::size_t task = 0; task < rate.size(); ++task) {
        const auto* flow = std::get_if<Flow>(&graph.tasks()[task].work);
        if (flow == nullptr || !runs(task)) continue;
        const bool at_cap = flow->cap && rate[task] >= flow->cap->count() * (1 - 1e-12);
        const bool bottleneck =
            std::any_of(flow->uses.begin(), flow->uses.end(), [&](const Use& use) {
              const std::size_t link = index(use.link);
              return used[link] >= graph.links()[link].capacity.count() * (1 - 1e-9) &&
                     rate[task] / flow->weight >= highest[link] * (1 - 1e-9);
            });
        EXPECT_TRUE(at_cap || bottleneck) << graph.tasks()[task].id;
      }
    }
  };
  for_random_graphs(claim, {.interference = false});
}

TEST(Property, NoScheduleBeatsTheBounds) {
  for_random_graphs([](const TaskGraph& graph, const FrozenGraph&, const Timeline& timeline) {
    EXPECT_GE(to_seconds(timeline.makespan), bounds(graph).bound());
  });
}

TEST(Property, LanesAreSerialAndInFileOrder) {
  for_random_graphs([](const TaskGraph& graph, const FrozenGraph&, const Timeline& timeline) {
    std::vector<Instant> free(graph.lanes().size());
    std::vector<Duration> busy(graph.lanes().size());
    for (std::size_t i = 0; i < graph.tasks().size(); ++i) {
      const std::size_t lane = index(graph.tasks()[i].lane);
      EXPECT_GE(timeline.spans[i].start, free[lane]);
      free[lane] = timeline.spans[i].end;
      busy[lane] += timeline.spans[i].end - timeline.spans[i].start;
    }
    EXPECT_EQ(timeline.lane_busy, busy);
  });
}

TEST(Property, TasksStartAfterTheirPredecessors) {
  for_random_graphs([](const TaskGraph& graph, const FrozenGraph&, const Timeline& timeline) {
    for (std::size_t i = 0; i < graph.tasks().size(); ++i) {
      for (const TaskId before : graph.tasks()[i].after) {
        EXPECT_GE(timeline.spans[i].start, timeline.spans[index(before)].end);
      }
    }
  });
}

TEST(Property, PoolsAreNeverExceededAndPeaksAreReached) {
  for_random_graphs([](const TaskGraph& graph, const FrozenGraph&, const Timeline& timeline) {
    struct Change {
      Instant at;
      int order;  // Releases are applied before acquisitions.
      double amount;
    };
    for (std::size_t pool = 0; pool < graph.pools().size(); ++pool) {
      std::vector<Change> changes;
      for (std::size_t i = 0; i < graph.tasks().size(); ++i) {
        double acquired = 0;
        double released = 0;
        for (const Hold& hold : graph.tasks()[i].acquire) {
          if (index(hold.pool) == pool) acquired += hold.amount.count();
        }
        for (const Hold& hold : graph.tasks()[i].release) {
          if (index(hold.pool) == pool) released += hold.amount.count();
        }
        const Timeline::Span& span = timeline.spans[i];
        if (span.start == span.end) {  // Such a task holds its pools only within one instant.
          changes.push_back({span.start, acquired > released ? 1 : 0, acquired - released});
        } else {
          changes.push_back({span.start, 1, acquired});
          changes.push_back({span.end, 0, -released});
        }
      }
      std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
        return std::pair(a.at, a.order) < std::pair(b.at, b.order);
      });
      double held = 0;
      double peak = 0;
      for (const Change& change : changes) peak = std::max(peak, held += change.amount);
      EXPECT_LE(peak, graph.pools()[pool].capacity.count());
      EXPECT_LE(timeline.pool_peak[pool], graph.pools()[pool].capacity);
    }
  });
}

TEST(Property, TheCriticalPathIsGaplessFromTheLastEndToTimeZero) {
  for_random_graphs([](const TaskGraph& graph, const FrozenGraph&, const Timeline& timeline) {
    const std::vector<TaskId> path = critical_path(graph, timeline);
    ASSERT_FALSE(path.empty());
    EXPECT_EQ(timeline.spans[index(path.front())].end, Instant(timeline.makespan));
    EXPECT_EQ(timeline.spans[index(path.back())].start, Instant());
    for (std::size_t i = 0; i + 1 < path.size(); ++i) {
      EXPECT_EQ(timeline.spans[index(path[i])].start, timeline.spans[index(path[i + 1])].end);
    }
  });
}

TEST(Property, SameInSameOut) {
  for_random_graphs(
      [](const TaskGraph& graph, const FrozenGraph& frozen, const Timeline& timeline) {
        EXPECT_EQ(write_result(graph, simulate(frozen)), write_result(graph, timeline));
      });
}

// Names, and the order in which lanes and links are listed, have no effect.
TEST(Property, RelabellingChangesNoInstant) {
  for_random_graphs([](const TaskGraph& graph, const FrozenGraph&, const Timeline& timeline) {
    TaskGraph other;
    const auto reversed = [](std::size_t count, auto id) {
      return decltype(id)(static_cast<std::uint32_t>(count - 1 - index(id)));
    };
    const std::size_t lanes = graph.lanes().size();
    const std::size_t links = graph.links().size();
    for (std::size_t i = 0; i < lanes; ++i) other.add_lane("x" + std::to_string(i));
    for (std::size_t i = links; i-- > 0;) {
      other.add_link("y" + std::to_string(i), graph.links()[i].capacity);
    }
    for (const Pool& pool : graph.pools()) other.add_pool(pool.name + "z", pool.capacity);
    for (const Interference& entry : graph.interference()) {
      other.add_interference(
          {reversed(lanes, entry.on), reversed(lanes, entry.from), entry.factor});
    }
    for (Task task : graph.tasks()) {
      task.id += "'";
      task.lane = reversed(lanes, task.lane);
      if (auto* flow = std::get_if<Flow>(&task.work)) {
        for (Use& use : flow->uses) use.link = reversed(links, use.link);
      }
      other.add_task(task);
    }
    EXPECT_EQ(outcome(other), outcome(timeline));
  });
}

// On one lane flows never share, so faster links cannot make anything later. (With several lanes
// this is not a theorem: schedules have anomalies.)
TEST(Property, OnOneLaneMoreBandwidthIsNeverSlower) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    TaskGraph graph = random_graph(seed, {.pools = false});
    for (Task& task : graph.mutable_tasks()) task.lane = LaneId(0);
    Duration before = simulate(graph).makespan;
    for (int step = 0; step < 4; ++step) {
      for (std::uint32_t link = 0; link < graph.links().size(); ++link) {
        graph.set_capacity(LinkId(link), graph.links()[link].capacity * 1.5);
      }
      const Duration now = simulate(graph).makespan;
      EXPECT_LE(now, before) << "seed " << seed;
      before = now;
    }
  }
}

}  // namespace
}  // namespace sluice::sim
