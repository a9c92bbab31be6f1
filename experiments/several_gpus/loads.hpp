// What a training step does beside collectives: copies from and to pinned host memory, AdamW on the
// processor's threads, matrix products. Each runs on its own threads while the board wants it.
#pragma once

#include <cstddef>

#include "board.hpp"

namespace sluice::several_gpus {

struct LoadOptions {
  int threads = 12;                           ///< Threads of AdamW on this rank.
  std::size_t chunk = std::size_t{32} << 20;  ///< Bytes of a copy.
  bool products = true;
};

/// Starts this rank's threads; returns when all have allocated and warmed up, so that nothing is
/// allocated later. They end with the process.
void start_load_threads(const Rank& rank, const LoadOptions& options);

}  // namespace sluice::several_gpus
