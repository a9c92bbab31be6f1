#include "planner/buying/build_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <optional>
#include <random>

#include "tests/planner/buying.hpp"

namespace sluice::planner {
namespace {

using test::priced;

/// Prices of two cards, two boards, their modules and two kinds of drives.
PriceList some_prices() {
  PriceList prices = test::part_prices();
  prices.parts["gpu rtx-5090"] = priced(2000);
  prices.parts["cpu threadripper-9970x"] = priced(4000);
  prices.parts["32 GiB DDR5-5600"] = priced(60);
  for (const char* size : {"32", "64", "128"}) {
    prices.parts[std::string(size) + " GiB DDR5-6400"] = priced(3 * std::stod(size));
  }
  prices.parts["ssd gen5"] = priced(280);
  return prices;
}

/// A job in closed form: it needs `needed` bytes of host memory or drives that hold the rest; its
/// step is the larger of compute (1 s, on the RTX 5090 0.6 s) and 60 GB over the memory's rate, and
/// what is on drives is read and written in each step, at the slower of their rates.
struct FakeJob {
  Bytes needed{0};
  double slower = 1;  ///< Times the step.

  [[nodiscard]] static double compute(const BuildOffer& offer) {
    return offer.parts.gpu == "rtx-5090" ? 0.6 : 1.0;
  }
  [[nodiscard]] BuildTrial plan(const BuildOffer& offer) const {
    const Bytes lacking = std::max(Bytes(0), needed - offer.memory);
    BuildTrial trial;
    if (lacking > Bytes(0)) trial.needed = needed;
    if (lacking > (offer.lends_drives ? offer.drives : Bytes(0))) return trial;
    const double memory = 60e9 / offer.memory_rate.count();
    const double rate = std::min(offer.drive_rate.count(), offer.drive_write_rate.count());
    const double disk = static_cast<double>(lacking.count()) / rate;
    trial.step = Seconds(slower * (std::max(compute(offer), memory) + disk));
    return trial;
  }
  [[nodiscard]] BuildTrials trials() const {
    return {
        .bound = [this](const BuildOffer& offer) { return Seconds(0.9 * slower * compute(offer)); },
        .begin =
            [this](const BuildOffer& offer) { return [this, &offer] { return plan(offer); }; }};
  }
  /// The shortest step within a budget, by planning every build.
  [[nodiscard]] std::optional<double> best(const std::vector<BuildGroup>& groups,
                                           double budget) const {
    std::optional<double> least;
    for (const BuildGroup& group : groups) {
      for (const BuildOffer& offer : group.offers) {
        const BuildTrial trial = plan(offer);
        if (!trial.step || offer.usd > budget) continue;
        least = std::min(least.value_or(trial.step->count()), trial.step->count());
      }
    }
    return least;
  }
};

std::optional<double> best_of(const FoundBuilds& found, double budget) {
  std::optional<double> least;
  for (const FoundBuild& one : found.builds) {
    if (one.offer.usd > budget) continue;
    least = std::min(least.value_or(one.step.count()), one.step.count());
  }
  return least;
}

TEST(BuildGroups, PriceEachPartAndKeepNoKitThatIsDearerAndNoBetter) {
  const std::vector<BuildGroup> groups = build_groups(some_prices());
  ASSERT_EQ(groups.size(), 4u);  // Two cards on two boards.
  for (const BuildGroup& group : groups) {
    for (const BuildOffer& one : group.offers) {
      EXPECT_NO_THROW(check_parts(one.parts)) << to_text(one.parts);
      EXPECT_EQ(some_prices().of(to_text(one.parts)).buy_usd, one.usd) << to_text(one.parts);
      for (const BuildOffer& other : group.offers) {
        const bool same = &one == &other || one.lends_drives != other.lends_drives;
        EXPECT_FALSE(!same && other.usd < one.usd && has_no_less(other, one) &&
                     other.drives >= one.drives && other.drive_rate >= one.drive_rate)
            << to_text(other.parts) << " is better than " << to_text(one.parts);
      }
    }
  }
}

// A desktop's 24 lanes serve two cards, the Threadripper's 48 four; a drive takes four.
TEST(BuildGroups, OfSeveralCardsHaveEightLanesForEachAndKeepNoStateOnDrives) {
  std::vector<std::int64_t> most = {0, 0};
  for (const BuildGroup& group : build_groups(some_prices(), {1, 2, 4, 8})) {
    EXPECT_EQ(group.gpu == group.offers.front().parts.gpu, group.offers.front().gpus == 1);
    for (const BuildOffer& one : group.offers) {
      std::int64_t& here = most[group.cpu == "ryzen-9-9950x" ? 0 : 1];
      here = std::max(here, one.gpus);
      if (one.gpus == 1) continue;
      EXPECT_FALSE(one.lends_drives);
      EXPECT_GE(one.lanes, 8) << one.name();
      EXPECT_EQ(find_counted_parts(one.name()), (CountedParts{one.gpus, one.parts}));
      EXPECT_EQ(some_prices().of(one.name()).buy_usd, one.usd) << one.name();
    }
  }
  EXPECT_EQ(most, (std::vector<std::int64_t>{2, 4}));
}

TEST(BuildGroups, APartWithoutAPriceIsInNoBuild) {
  PriceList prices = some_prices();
  prices.parts.erase("gpu rtx-4090");
  for (const BuildGroup& group : build_groups(prices)) EXPECT_EQ(group.gpu, "rtx-5090");
  prices.parts.clear();
  EXPECT_TRUE(build_groups(prices).empty());
}

// The search may leave kBuildTolerance to what it rules out, and nothing else.
TEST(BuildSearch, FindsWhatPlanningEveryBuildFinds) {
  const std::vector<BuildGroup> groups = build_groups(some_prices());
  std::size_t all = 0;
  for (const BuildGroup& group : groups) all += group.offers.size();
  for (const std::int64_t gib : {1, 100, 200, 400, 700, 2000}) {
    const FakeJob job{.needed = Bytes(gib << 30)};
    for (const double budget : {3000.0, 3600.0, 5000.0, 8000.0, 20000.0}) {
      const FoundBuilds found = search_builds(groups, job.trials(), {.budgets_usd = {budget}});
      const auto best = job.best(groups, budget);
      if (!best) continue;
      ASSERT_TRUE(best_of(found, budget)) << gib << " GiB, " << budget << " USD";
      EXPECT_LE(*best_of(found, budget), *best * (1 + kBuildTolerance) + 1e-12)
          << gib << " GiB, " << budget << " USD";
      EXPECT_LT(found.planned, all);
    }
  }
}

TEST(BuildSearch, TheFrontFallsInStepAsItRisesInPrice) {
  const std::vector<BuildGroup> groups = build_groups(some_prices());
  const FakeJob job{.needed = Bytes(300ll << 30)};
  const FoundBuilds found = search_builds(groups, job.trials(), {});
  Seconds last{std::numeric_limits<double>::infinity()};
  double usd = 0;
  for (const FoundBuild& one : found.builds) {
    if (!one.on_front) continue;
    EXPECT_LT(one.step, last);
    EXPECT_GE(one.offer.usd, usd);
    last = one.step;
    usd = one.offer.usd;
  }
  EXPECT_GT(usd, 0);
  EXPECT_EQ(found.open, 0u);
}

TEST(BuildSearch, BeyondTheBudgetTheCheapestThatFitsIsStillFound) {
  const std::vector<BuildGroup> groups = build_groups(some_prices());
  const FakeJob job{.needed = Bytes(200ll << 30)};
  double cheapest = std::numeric_limits<double>::infinity();
  for (const BuildGroup& group : groups) {
    for (const BuildOffer& offer : group.offers) {
      if (job.plan(offer).step) cheapest = std::min(cheapest, offer.usd);
    }
  }
  const FoundBuilds found = search_builds(groups, job.trials(), {.budgets_usd = {100}});
  ASSERT_FALSE(found.builds.empty());
  EXPECT_EQ(found.builds.front().offer.usd, cheapest);
}

TEST(BuildSearch, WhereMemoryIsShortDrivesAreLentAndElsewhereNot) {
  const std::vector<BuildGroup> groups = build_groups(some_prices());
  const auto lends = [&](std::int64_t gib) {
    const FakeJob job{.needed = Bytes(gib << 30)};
    const FoundBuilds found = search_builds(groups, job.trials(), {.budgets_usd = {4000}});
    return std::ranges::count_if(found.builds,
                                 [](const FoundBuild& one) { return one.offer.lends_drives; });
  };
  EXPECT_GT(lends(400), 0);  // Four modules of 64 GiB are the most of the cheaper board.
  EXPECT_EQ(lends(1), 0);
}

// A board with more of everything bounds the steps of all others of its GPU: 2 channels beside 4.
TEST(BuildOffers, OfOneGpuAreComparedAcrossBoards) {
  std::vector<BuildGroup> groups = build_groups(some_prices());
  std::erase_if(groups, [](const BuildGroup& group) { return group.gpu != "rtx-5090"; });
  ASSERT_EQ(groups.size(), 2u);
  const BuildOffer& desktop =
      (groups[0].cpu == "ryzen-9-9950x" ? groups[0] : groups[1]).offers.front();
  const auto& server = (groups[0].cpu == "ryzen-9-9950x" ? groups[1] : groups[0]).offers;
  EXPECT_TRUE(std::ranges::any_of(
      server, [&](const BuildOffer& more) { return has_no_less(more, desktop); }));
  EXPECT_FALSE(std::ranges::any_of(
      server, [&](const BuildOffer& more) { return has_no_less(desktop, more); }));
}

TEST(BuildSearch, PlansNoMoreThanItMayAndSaysWhatIsOpen) {
  const std::vector<BuildGroup> groups = build_groups(some_prices());
  const FakeJob job{.needed = Bytes(300ll << 30)};
  const FoundBuilds few = search_builds(groups, job.trials(), {.most_planned = 5});
  EXPECT_EQ(few.planned, 5u);
  EXPECT_GT(few.open, 0u);
}

TEST(BuildSearch, BuildsThatLendDrivesCountForSeveral) {
  const std::vector<BuildGroup> groups = build_groups(some_prices());
  const FakeJob job{.needed = Bytes(400ll << 30)};
  std::atomic<std::size_t> spent = 0;
  BuildTrials trials = job.trials();
  trials.begin = [&, begin = trials.begin](const BuildOffer& offer) {
    spent += offer.lends_drives ? kDiskCounts : 1;
    return begin(offer);
  };
  const FoundBuilds found =
      search_builds(groups, trials, {.budgets_usd = {4000}, .most_planned = 7});
  EXPECT_LT(found.planned, spent);
  EXPECT_GE(spent, 7u);
  EXPECT_LT(spent, 7 + kDiskCounts);
}

// What costs more than every budget bounds steps, but is no answer.
TEST(BuildSearch, BuildsBeyondTheBudgetAreNoResultWhereOneWithinFits) {
  const std::vector<BuildGroup> groups = build_groups(some_prices());
  const FakeJob job{.needed = Bytes(1ll << 30)};
  const FoundBuilds found = search_builds(groups, job.trials(), {.budgets_usd = {3600}});
  ASSERT_FALSE(found.builds.empty());
  for (const FoundBuild& one : found.builds) EXPECT_LE(one.offer.usd, 3600);
}

TEST(BuildSearch, DoesNotDependOnTheThreadsAndEndsAtItsDeadline) {
  const std::vector<BuildGroup> groups = build_groups(some_prices());
  const FakeJob job{.needed = Bytes(300ll << 30)};
  const FoundBuilds one = search_builds(groups, job.trials(), {.threads = 1});
  const FoundBuilds three = search_builds(groups, job.trials(), {.threads = 3});
  ASSERT_EQ(one.builds.size(), three.builds.size());
  for (std::size_t i = 0; i < one.builds.size(); ++i) {
    EXPECT_EQ(one.builds[i].offer.parts, three.builds[i].offer.parts);
  }
  const FoundBuilds late = search_builds(groups, job.trials(), {.until = Deadline::in(Seconds(0))});
  EXPECT_EQ(late.planned, 0u);
  EXPECT_GT(late.open, 0u);
}

// A card's cheapest build that fits is found, or named as left out, or another build costs no more
// and is as fast.
TEST(BuildSearch, TheCheapestThatFitsOfAGpuIsFoundOrNamedOrBeaten) {
  std::vector<BuildGroup> groups = build_groups(some_prices());
  bool names_any = false;
  for (const std::int64_t gib : {1, 200, 400, 700, 2000}) {
    const FakeJob job{.needed = Bytes(gib << 30)};
    for (const double budget : {3600.0, 8000.0}) {
      const FoundBuilds found = search_builds(groups, job.trials(), {.budgets_usd = {budget}});
      names_any = names_any || !found.left_out.empty();
      for (const BuildGroup& group : groups) {
        for (const BuildOffer& offer : group.offers) {
          const auto step = job.plan(offer).step;
          if (!step || offer.usd > budget) continue;
          const auto of_gpu = [&](const BuildOffer& other) {
            return other.parts.gpu == offer.parts.gpu && other.usd <= offer.usd;
          };
          const bool is_known = std::ranges::any_of(found.builds, [&](const FoundBuild& one) {
            const bool beats = one.offer.usd <= offer.usd && one.step <= *step * 1.02;
            return beats || of_gpu(one.offer);
          });
          EXPECT_TRUE(is_known || std::ranges::any_of(found.left_out, of_gpu))
              << offer.name() << ", " << gib << " GiB, " << budget << " USD";
        }
      }
    }
  }
  EXPECT_TRUE(names_any);
}

// Drives that were lent in vain with so much memory are not tried with less of both, however fast
// the memory is.
TEST(BuildSearch, DrivesLentInVainAreNotTriedWithLess) {
  const std::vector<BuildGroup> groups = build_groups(some_prices());
  std::vector<const BuildOffer*> failed;
  std::mutex guard;
  BuildTrials trials = FakeJob{}.trials();
  trials.begin = [&](const BuildOffer& offer) {
    const std::lock_guard lock(guard);
    for (const BuildOffer* other : failed) {
      const bool is_less = offer.parts.gpu == other->parts.gpu && offer.memory <= other->memory &&
                           offer.drives <= other->drives;
      EXPECT_FALSE(offer.lends_drives && is_less) << offer.name();
    }
    return [&] { return BuildTrial{.step = std::nullopt, .needed = Bytes(8000ll << 30)}; };
  };
  trials.settle = [&](const BuildOffer& offer) {
    const std::lock_guard lock(guard);
    if (offer.lends_drives) failed.push_back(&offer);
  };
  const FoundBuilds found = search_builds(groups, trials, {.budgets_usd = {20000}});
  EXPECT_TRUE(found.builds.empty());
  EXPECT_FALSE(failed.empty());
}

// Also where steps take minutes, a large budget does not keep the search from the cheap end.
TEST(BuildSearch, OfFewPlansSomeFindTheCheapestThatFits) {
  for (const std::int64_t gib : {20, 100, 300, 700}) {
    const FakeJob job{.needed = Bytes(gib << 30), .slower = 100};
    const std::vector<BuildGroup> groups = build_groups(some_prices(), {1, 2, 4});
    double cheapest = std::numeric_limits<double>::infinity();
    for (const BuildGroup& group : groups) {
      for (const BuildOffer& offer : group.offers) {
        if (job.plan(offer).step) cheapest = std::min(cheapest, offer.usd);
      }
    }
    const FoundBuilds found =
        search_builds(groups, job.trials(), {.budgets_usd = {100'000}, .most_planned = 60});
    ASSERT_FALSE(found.builds.empty());
    const double least = found.left_out.empty()
                             ? found.builds.front().offer.usd
                             : std::min(found.builds.front().offer.usd, found.left_out.front().usd);
    EXPECT_LE(least, cheapest) << gib;
  }
}

// State on drives takes minutes a step: with a limit the cheapest has the memory that the job
// needs.
TEST(BuildSearch, TheCheapestIsOneThatIsFastEnough) {
  const FakeJob job{.needed = Bytes(100ll << 30)};
  const std::vector<BuildGroup> groups = build_groups(some_prices(), {1, 2, 4});
  double cheapest = std::numeric_limits<double>::infinity();
  for (const BuildGroup& group : groups) {
    for (const BuildOffer& offer : group.offers) {
      const auto step = job.plan(offer).step;
      if (step && *step < Seconds(2)) cheapest = std::min(cheapest, offer.usd);
    }
  }
  const FoundBuilds found =
      search_builds(groups, job.trials(),
                    {.budgets_usd = {100'000}, .most_step = Seconds(2), .most_planned = 40});
  const auto fast = std::ranges::find_if(
      found.builds, [](const FoundBuild& one) { return one.step < Seconds(2); });
  ASSERT_NE(fast, found.builds.end());
  EXPECT_DOUBLE_EQ(fast->offer.usd, cheapest);
}

TEST(BuildsToShow, HoldTheCheapestAndTheFastestOfEachGpu) {
  const std::vector<BuildGroup> groups = build_groups(some_prices());
  const FakeJob job{.needed = Bytes(100ll << 30)};
  const FoundBuilds found = search_builds(groups, job.trials(), {});
  const std::vector<FoundBuild> shown = builds_to_show(found, {});
  for (const FoundBuild& one : found.builds) {
    const auto of_gpu = [&](const FoundBuild& other) {
      return other.offer.parts.gpu == one.offer.parts.gpu;
    };
    EXPECT_TRUE(std::ranges::any_of(shown, [&](const FoundBuild& other) {
      return of_gpu(other) && other.offer.usd <= one.offer.usd;
    }));
    EXPECT_TRUE(std::ranges::any_of(
        shown, [&](const FoundBuild& other) { return of_gpu(other) && other.step <= one.step; }));
  }
}

}  // namespace
}  // namespace sluice::planner
