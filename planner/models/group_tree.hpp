// Groups of a step's micro-batches, and the fixed tree by which their gradients are added up
// (docs/numerics.md). Every number of ranks and every plan adds along this tree, so that results
// depend on the number of groups alone.
#pragma once

#include <cstdint>
#include <vector>

namespace sluice::planner {

/// First micro-batch of group `group`, of `groups` groups of `micro_batches` micro-batches:
/// ceil(group * micro_batches / groups). Groups differ by at most one micro-batch, and so do equal
/// runs of consecutive groups; the first group, and every first run, is one of the longest. For
/// `group` = `groups` the result is `micro_batches`. Needs 1 <= groups <= micro_batches.
[[nodiscard]] std::int64_t first_of_group(std::int64_t micro_batches, std::int64_t groups,
                                          std::int64_t group);

/// Group of micro-batch `micro_batch`, 0 to micro_batches - 1.
[[nodiscard]] std::int64_t group_of(std::int64_t micro_batches, std::int64_t groups,
                                    std::int64_t micro_batch);

/// Number of groups in the left part of a tree over `groups` groups (at least 2): the largest power
/// of two below `groups`. The right part holds the others; both are trees of the same form.
[[nodiscard]] std::int64_t left_of_tree(std::int64_t groups);

/// Walk of the tree from the first group to the last with a stack of partial sums: before a group
/// the stack holds the sums of complete left parts, the group adds its own sum on top, and then the
/// two topmost are added, the lower one as the left operand, as often as `adds_after` says. After
/// the last group one sum is left. A rank that holds an aligned part of the tree walks it in the
/// same manner, with the number of groups that it holds.
class GroupWalk {
 public:
  /// Throws no errors; `groups` is at least 1.
  explicit GroupWalk(std::int64_t groups) : groups_(groups) {}

  [[nodiscard]] std::int64_t groups() const { return groups_; }
  /// Number of sums on the stack before group `group` begins, which is the place of the group's own
  /// sum, counted from 0 at the bottom.
  [[nodiscard]] std::int64_t place(std::int64_t group) const;
  /// Number of additions that follow group `group`.
  [[nodiscard]] std::int64_t adds_after(std::int64_t group) const;
  /// Largest place of any group, floor(log2 groups): so many sums are in memory beside the one at
  /// the bottom.
  [[nodiscard]] std::int64_t depth() const;

 private:
  std::int64_t groups_;
};

/// Number of sums on the stack after the first `done` of `micro_batches` micro-batches (at least
/// one, and not all of them); the sum of a group that has begun and not ended counts, too.
[[nodiscard]] std::int64_t sums_after(std::int64_t micro_batches, std::int64_t groups,
                                      std::int64_t done);

/// Largest number of sums, beside the one at the bottom, that are on the stack between two of
/// `rounds` equal rounds of the micro-batches; 0 for one round.
[[nodiscard]] std::int64_t sums_between_rounds(std::int64_t micro_batches, std::int64_t groups,
                                               std::int64_t rounds);

/// Numbers of ranks of which each can hold a complete part of the tree, in ascending order: 1, and
/// every N that divides `groups` such that groups / N is a power of two.
[[nodiscard]] std::vector<std::int64_t> admissible_ranks(std::int64_t groups);

}  // namespace sluice::planner
