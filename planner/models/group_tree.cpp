#include "planner/models/group_tree.hpp"

#include <algorithm>
#include <bit>

#include "sim/error.hpp"

namespace sluice::planner {
namespace {

std::uint64_t bits(std::int64_t count) { return static_cast<std::uint64_t>(count); }

}  // namespace

std::int64_t first_of_group(std::int64_t micro_batches, std::int64_t groups, std::int64_t group) {
  check(groups >= 1 && group >= 0 && group <= groups, "a group is one of its job's");
  return (group * micro_batches + groups - 1) / groups;
}

std::int64_t group_of(std::int64_t micro_batches, std::int64_t groups, std::int64_t micro_batch) {
  check(groups <= micro_batches, "a group has a micro-batch");
  // The last group that begins at the micro-batch or before it.
  return micro_batch * groups / micro_batches;
}

std::int64_t left_of_tree(std::int64_t groups) {
  check(groups >= 2, "a tree of one group has no parts");
  return static_cast<std::int64_t>(std::bit_floor(bits(groups - 1)));
}

std::int64_t GroupWalk::place(std::int64_t group) const { return std::popcount(bits(group)); }

std::int64_t GroupWalk::adds_after(std::int64_t group) const {
  return group + 1 == groups_ ? place(group) : std::countr_one(bits(group));
}

std::int64_t GroupWalk::depth() const {
  return static_cast<std::int64_t>(std::bit_width(bits(groups_))) - 1;
}

std::int64_t sums_after(std::int64_t micro_batches, std::int64_t groups, std::int64_t done) {
  check(done >= 1 && done < micro_batches, "sums are open after some of the micro-batches");
  const std::int64_t group = group_of(micro_batches, groups, done);
  const bool begun = first_of_group(micro_batches, groups, group) < done;
  return GroupWalk(groups).place(group) + (begun ? 1 : 0);
}

std::int64_t sums_between_rounds(std::int64_t micro_batches, std::int64_t groups,
                                 std::int64_t rounds) {
  std::int64_t most = 1;
  for (std::int64_t round = 1; round < rounds; ++round) {
    most = std::max(most, sums_after(micro_batches, groups, round * (micro_batches / rounds)));
  }
  return most - 1;
}

std::vector<std::int64_t> admissible_ranks(std::int64_t groups) {
  std::vector<std::int64_t> ranks;
  if (!std::has_single_bit(bits(groups))) ranks.push_back(1);
  for (std::int64_t held = std::int64_t{1} << std::countr_zero(bits(groups)); held >= 1; held /= 2)
    ranks.push_back(groups / held);
  return ranks;
}

}  // namespace sluice::planner
