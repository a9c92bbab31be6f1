// Starts the ranks of a part, as threads of this process or as processes of their own.
#pragma once

#include <functional>

#include "board.hpp"

namespace sluice::several_gpus {

/// How ranks are started.
struct Launch {
  int gpus = 4;
  bool processes = false;
  int ranks_a_host =
      0;  ///< Ranks that NCCL believes to be on one host ($NCCL_HOSTID); 0: all. Processes only.
};

/// Runs `part` on every rank, with its GPU current, and ends this process: with 0 when all ranks
/// returned, with 1 when one threw. Nothing is torn down: communicators and threads end with the
/// process.
[[noreturn]] void run_ranks(const Launch& launch, const std::function<void(const Rank&)>& part);

}  // namespace sluice::several_gpus
