#include "planner/models/group_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace sluice::planner {
namespace {

/// The tree over groups first ... first + count - 1 as text, such as "((0+1)+2)".
std::string tree(std::int64_t first, std::int64_t count) {
  if (count == 1) return std::to_string(first);
  const std::int64_t left = left_of_tree(count);
  return "(" + tree(first, left) + "+" + tree(first + left, count - left) + ")";
}

/// What a walk with a stack leaves, in the same form; `most` is the highest place that it used.
std::string walked(std::int64_t groups, std::int64_t& most) {
  const GroupWalk walk(groups);
  std::vector<std::string> stack;
  most = 0;
  for (std::int64_t group = 0; group < groups; ++group) {
    EXPECT_EQ(walk.place(group), std::ssize(stack)) << groups << " groups, group " << group;
    most = std::max(most, walk.place(group));
    stack.push_back(std::to_string(group));
    for (std::int64_t i = 0; i < walk.adds_after(group); ++i) {
      std::string sum = "(" + stack[stack.size() - 2] + "+" + stack.back() + ")";
      stack.resize(stack.size() - 2);
      stack.push_back(std::move(sum));
    }
  }
  EXPECT_EQ(stack.size(), 1U);
  return stack.front();
}

TEST(GroupTree, SplitsAtTheLargestPowerOfTwoBelowItsLength) {
  EXPECT_EQ(tree(0, 1), "0");
  EXPECT_EQ(tree(0, 2), "(0+1)");
  EXPECT_EQ(tree(0, 3), "((0+1)+2)");
  EXPECT_EQ(tree(0, 4), "((0+1)+(2+3))");
  EXPECT_EQ(tree(0, 6), "(((0+1)+(2+3))+(4+5))");
  EXPECT_EQ(tree(0, 7), "(((0+1)+(2+3))+((4+5)+6))");
  EXPECT_EQ(tree(0, 8), "(((0+1)+(2+3))+((4+5)+(6+7)))");
}

TEST(GroupWalk, AddsAlongTheTreeWithAStackOfItsDepth) {
  for (std::int64_t groups = 1; groups <= 70; ++groups) {
    std::int64_t most = 0;
    EXPECT_EQ(walked(groups, most), tree(0, groups));
    EXPECT_EQ(GroupWalk(groups).depth(), most) << groups;
    std::int64_t adds = 0;
    for (std::int64_t group = 0; group < groups; ++group)
      adds += GroupWalk(groups).adds_after(group);
    EXPECT_EQ(adds, groups - 1);
  }
  EXPECT_EQ(GroupWalk(1).depth(), 0);
  EXPECT_EQ(GroupWalk(3).depth(), 1);
  EXPECT_EQ(GroupWalk(8).depth(), 3);
}

TEST(GroupTree, EveryRankOfAnAdmissibleNumberHoldsACompletePart) {
  EXPECT_EQ(admissible_ranks(1), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(admissible_ranks(8), (std::vector<std::int64_t>{1, 2, 4, 8}));
  EXPECT_EQ(admissible_ranks(6), (std::vector<std::int64_t>{1, 3, 6}));
  EXPECT_EQ(admissible_ranks(7), (std::vector<std::int64_t>{1, 7}));
  EXPECT_EQ(admissible_ranks(48), (std::vector<std::int64_t>{1, 3, 6, 12, 24, 48}));
  for (std::int64_t groups = 1; groups <= 48; ++groups) {
    for (const std::int64_t ranks : admissible_ranks(groups)) {
      const std::int64_t held = groups / ranks;
      // The ranks' trees, put together by the tree over ranks, are the whole tree.
      const auto upper = [&](auto&& self, std::int64_t first, std::int64_t count) -> std::string {
        if (count == 1) return tree(first * held, held);
        const std::int64_t left = left_of_tree(count);
        return "(" + self(self, first, left) + "+" + self(self, first + left, count - left) + ")";
      };
      EXPECT_EQ(upper(upper, 0, ranks), tree(0, groups)) << groups << " on " << ranks;
    }
  }
}

TEST(GroupTree, GroupsAreConsecutiveAndAsEvenAsPossible) {
  for (std::int64_t all = 1; all <= 24; ++all) {
    for (std::int64_t groups = 1; groups <= all; ++groups) {
      EXPECT_EQ(first_of_group(all, groups, 0), 0);
      EXPECT_EQ(first_of_group(all, groups, groups), all);
      for (std::int64_t group = 0; group < groups; ++group) {
        const std::int64_t first = first_of_group(all, groups, group);
        const std::int64_t end = first_of_group(all, groups, group + 1);
        EXPECT_GE(end - first, all / groups);
        EXPECT_LE(end - first, (all + groups - 1) / groups);
        for (std::int64_t micro = first; micro < end; ++micro) {
          EXPECT_EQ(group_of(all, groups, micro), group);
        }
      }
      // So are the runs of groups that ranks hold, and the first rank's is one of the longest.
      for (const std::int64_t ranks : admissible_ranks(groups)) {
        const std::int64_t held = groups / ranks;
        for (std::int64_t rank = 0; rank < ranks; ++rank) {
          const std::int64_t size = first_of_group(all, groups, (rank + 1) * held) -
                                    first_of_group(all, groups, rank * held);
          EXPECT_GE(size, all / ranks);
          EXPECT_LE(size, first_of_group(all, groups, held));
        }
      }
    }
  }
}

TEST(GroupTree, BetweenRoundsTheSumsOfTheStackWait) {
  // Four groups of two: after 2, 4 and 6 micro-batches wait 0; 0+1; 0+1 and 2.
  EXPECT_EQ(sums_after(8, 4, 2), 1);
  EXPECT_EQ(sums_after(8, 4, 4), 1);
  EXPECT_EQ(sums_after(8, 4, 6), 2);
  // Within group 3: 0+1, 2 and what there is of 3.
  EXPECT_EQ(sums_after(8, 4, 7), 3);
  EXPECT_EQ(sums_between_rounds(8, 4, 1), 0);
  EXPECT_EQ(sums_between_rounds(8, 4, 2), 0);
  EXPECT_EQ(sums_between_rounds(8, 4, 4), 1);
  EXPECT_EQ(sums_between_rounds(8, 4, 8), 2);
  for (const std::int64_t rounds : {1, 2, 4, 8}) EXPECT_EQ(sums_between_rounds(8, 1, rounds), 0);
}

}  // namespace
}  // namespace sluice::planner
