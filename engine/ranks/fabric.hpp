// Collectives between the arenas of ranks. They move bytes and never add: sums are tasks of the
// step graph, in the job's order, so that every fabric gives the same bits.
#pragma once

#include <cstddef>
#include <span>

#include "engine/ranks/world.hpp"

namespace sluice::engine {

/// One rank's side of the links between ranks. Every rank must make the same calls in the same
/// order, with ranges of equal sizes; calls of one rank must not overlap. A call returns when this
/// rank's bytes have arrived and its ranges may change again; it throws RankFailure as Control
/// does.
class Fabric {
 public:
  virtual ~Fabric() = default;
  Fabric() = default;
  Fabric(const Fabric&) = delete;  // Other ranks know it.
  Fabric& operator=(const Fabric&) = delete;

  [[nodiscard]] virtual World world() const = 0;
  /// Fills `whole`, which has as many equal runs as there are ranks: run r is rank r's. Each rank
  /// holds its own run already; the others are written.
  virtual void all_gather(std::span<std::byte> whole) = 0;
  /// Sends run r of `own`, which has as many equal runs as there are ranks, to rank r, and writes
  /// what the other ranks send to this one into `received`, one run a peer in order of ranks. This
  /// rank's run of its own range stays where it is. `own` and `received` must not overlap.
  virtual void exchange(std::span<const std::byte> own, std::span<std::byte> received) = 0;
};

/// Bytes of one of `ranks` equal runs of a range of `bytes` bytes. Throws std::logic_error if they
/// are not equal.
[[nodiscard]] std::size_t run_bytes(std::size_t bytes, int ranks);

/// Index among the other ranks of `peer`, as rank `rank` counts them: in ascending order.
[[nodiscard]] constexpr std::size_t peer_index(int rank, int peer) {
  return static_cast<std::size_t>(peer < rank ? peer : peer - 1);
}

}  // namespace sluice::engine
