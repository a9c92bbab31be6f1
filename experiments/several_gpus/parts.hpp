// The parts of the experiment. Every rank runs them; the first prints their rows.
#pragma once

#include <cstddef>
#include <vector>

#include "board.hpp"
#include "fabric.hpp"

namespace sluice::several_gpus {

struct Options {
  std::vector<Way> ways{Way::plain};
  int cores = 64;                             ///< Cores of the host.
  std::size_t chunk = std::size_t{32} << 20;  ///< Bytes of a copy from or to the host.
  std::size_t most = std::size_t{2} << 30;    ///< Bytes of the largest collective.
  bool brief = false;                         ///< Fewer loads, one size.
};

/// GPUs, their access to each other, copy engines, NCCL.
void facts(const Rank& rank, const Options& options);
/// Collectives by size, and whether they need multiprocessors.
void collectives(const Rank& rank, const Options& options);
/// Collectives beside copies, AdamW and matrix products, and what they cost each other.
void beside(const Rank& rank, const Options& options);
/// Host memory: copies on one GPU to all, beside AdamW on some to all cores.
void host(const Rank& rank, const Options& options);
/// Speed of the ordered sum in a GPU's own memory, and read from its peers.
void sum(const Rank& rank, const Options& options);
/// Whether the ordered sum has the same bits on every rank, in any piece size, by any way.
void equality(const Rank& rank, const Options& options);

}  // namespace sluice::several_gpus
