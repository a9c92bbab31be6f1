// Which units of a plan have their state, waiting gradients and weights on the disk, and what host
// memory that frees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "planner/predictions/predict.hpp"
#include "planner/search/plan_space.hpp"

namespace sluice::planner {

/// Moves parts of a plan from the host's memory to the disk, one tensor of one unit a move, in a
/// fixed order: units' optimizer state first, then waiting gradients of those units, then their
/// weights. Says how much of the host's memory that frees.
class DiskShares {
 public:
  /// Blocks whose state goes to the disk first: the last ones, or evenly spread ones.
  enum class Placement { last, even };

  /// Plans of `ranks` ranks: buffers are those of each.
  DiskShares(const Job& job, const Pins& pins, std::int64_t ranks = 1);

  /// Largest size of one host buffer (Plan::disk_buffer) of the plans that moved() makes.
  [[nodiscard]] Bytes buffer() const { return buffer_; }
  /// Bytes of `count` host buffers a rank through which pieces of state and gradients pass, none
  /// larger than the largest unit's state and gradient together.
  [[nodiscard]] Bytes slots(std::int64_t count) const;
  /// Bytes that `count` host buffers a rank take more where weights pass through them, too, with
  /// those of as many further buffers for weights alone; at most.
  [[nodiscard]] Bytes weight_slots(std::int64_t count) const;
  /// Bytes of host memory that are freed once the state of all units is on the disk.
  [[nodiscard]] Bytes state_frees() const;
  /// Bytes of host memory that are freed once state, gradients and weights of all units are on the
  /// disk.
  [[nodiscard]] Bytes all_frees() const;
  /// Bytes of host memory that `plan` frees by what it keeps on the disk.
  [[nodiscard]] Bytes frees_of(const Plan& plan) const;

  /// Moves everything that the plan keeps on the disk to the host; the CPU still updates what lay
  /// there.
  static void bring_back(Plan& plan);
  /// `plan` after its first `count` moves to the disk, with `buffers` host buffers of at most
  /// buffer() bytes and then the pins. `placement` says which blocks' state goes first.
  [[nodiscard]] Plan moved(const Plan& plan, std::size_t count, Placement placement,
                           std::int64_t buffers) const;
  /// The fewest moves that free `missing` bytes of host memory and what two host buffers take; all
  /// moves where these free too little.
  [[nodiscard]] std::size_t fewest(const Plan& plan, Bytes missing) const;

 private:
  struct Frees {
    Bytes state, gradient, weights;
  };
  [[nodiscard]] std::vector<std::size_t> with_gradients(const Plan& plan) const;

  const Job& job_;
  const Pins& pins_;
  std::int64_t ranks_;
  /// Bytes of host memory that each tensor of a unit frees on the disk, by unit.
  std::vector<Frees> frees_;
  std::vector<std::int64_t> parameters_;
  Bytes buffer_{0};
};

/// What the plan keeps on the disk, in words, such as "state of 10 of 32 layers on disk";
/// embedding, head, gradients and weights are named where they lie there.
[[nodiscard]] std::string disk_share_text(const Plan& plan);

}  // namespace sluice::planner
