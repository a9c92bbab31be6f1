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

/// Counts what lies on the disk, in the order in which it goes there: units' state, then gradients,
/// then weights. A share is a count of such moves.
class DiskShares {
 public:
  enum class Placement { last, even };  ///< The last blocks first, or evenly spread ones.

  DiskShares(const Job& job, const Pins& pins);

  /// The most bytes of one host buffer of plans made here.
  [[nodiscard]] Bytes buffer() const { return buffer_; }
  /// Bytes of so many host slots, each as large as the largest unit at most.
  [[nodiscard]] Bytes slots(std::int64_t count) const;
  /// Bytes that such slots take more where weights pass through them, and slots of weights alone.
  [[nodiscard]] Bytes weight_slots(std::int64_t count) const;
  /// Host memory that moving all state frees.
  [[nodiscard]] Bytes state_frees() const;
  /// Host memory that moving everything frees.
  [[nodiscard]] Bytes all_frees() const;
  /// Host memory that is free by what the plan has on the disk.
  [[nodiscard]] Bytes frees_of(const Plan& plan) const;

  /// Takes everything off the disk; the CPU still updates what lay there.
  static void bring_back(Plan& plan);
  /// The plan with `count` moves to the disk, and the pins.
  [[nodiscard]] Plan moved(const Plan& plan, std::size_t count, Placement placement,
                           std::int64_t buffers) const;
  /// The fewest moves that free `missing` and what their slots take.
  [[nodiscard]] std::size_t fewest(const Plan& plan, Bytes missing) const;

 private:
  struct Frees {
    Bytes state, gradient, weights;
  };
  [[nodiscard]] std::vector<std::size_t> with_gradients(const Plan& plan) const;

  const Job& job_;
  const Pins& pins_;
  std::vector<Frees> frees_;  ///< Bytes of host memory by unit.
  std::vector<std::int64_t> parameters_;
  Bytes buffer_{0};
};

/// "state of 10 of 32 layers on disk", with the embedding and the head where they are, too.
[[nodiscard]] std::string disk_share_text(const Plan& plan);

}  // namespace sluice::planner
