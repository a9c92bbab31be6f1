// Collectives between the arenas of ranks. They move bytes and never add: sums are tasks of the
// step graph, in the job's order, so that every fabric gives the same bits.
#pragma once

#include <cstddef>
#include <span>

#include "engine/ranks/members.hpp"
#include "engine/ranks/world.hpp"

namespace sluice::engine {

/// One run of bytes for each rank, or each member, in one arena, at equal distances: run r is that
/// of rank r, or of the member with index r.
struct RankRuns {
  std::byte* first;    ///< Where rank 0's run begins.
  std::size_t bytes;   ///< Bytes of one run.
  std::size_t stride;  ///< Bytes from the beginning of a run to that of the following one.

  [[nodiscard]] std::span<std::byte> of(int rank) const {
    return {first + static_cast<std::size_t>(rank) * stride, bytes};
  }
};
/// `whole` as `ranks` runs, one after the other. Throws std::logic_error if they are not equal.
[[nodiscard]] RankRuns runs_of(std::span<std::byte> whole, int ranks);

/// One rank's side of the links between ranks. Every rank must make the same calls in the same
/// order, with runs of equal sizes; calls of one rank must not overlap. A call returns when this
/// rank's bytes have arrived and its runs may change again; it throws RankFailure as Control does.
class Fabric {
 public:
  virtual ~Fabric() = default;
  Fabric() = default;
  Fabric(const Fabric&) = delete;  // Other ranks know it.
  Fabric& operator=(const Fabric&) = delete;

  [[nodiscard]] virtual World world() const = 0;
  /// Brings every rank's run to all ranks: each holds its own run already, and the others are
  /// written. By runs without bytes the ranks of one process wait for each other.
  void all_gather(const RankRuns& runs) { all_gather(runs, all_ranks(world().size)); }
  /// The same among `members`, of which this rank is one, with a run for each. All ranks make the
  /// call, each with the members that it is of.
  virtual void all_gather(const RankRuns& runs, const Members& members) = 0;
  /// Among `members`, of which this rank is one: sends run i of `own` to the member with index i,
  /// and writes what the other members send to this one into `received`, one run a peer in order of
  /// ranks. This rank's run of its own stays where it is. Nothing of `own` is written, and
  /// `received` must not overlap it. All ranks make the call, each with the members that it is of.
  virtual void exchange(const RankRuns& own, std::span<std::byte> received,
                        const Members& members) = 0;
  /// The same among all ranks.
  void exchange(const RankRuns& own, std::span<std::byte> received) {
    exchange(own, received, all_ranks(world().size));
  }
};

/// Index among the other ranks of `peer`, as rank `rank` counts them: in ascending order.
[[nodiscard]] constexpr std::size_t peer_index(int rank, int peer) {
  return static_cast<std::size_t>(peer < rank ? peer : peer - 1);
}

}  // namespace sluice::engine
