// Collectives between the device arenas of ranks, one GPU each, on a stream; free of NCCL's header.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "engine/cuda/fabric/fabric_memory.hpp"
#include "engine/ranks/rank_failure.hpp"
#include "engine/ranks/rank_links.hpp"

struct CUstream_st;

namespace sluice::engine {

struct GpuFabricSettings {
  /// Longest time in which no collective that was enqueued ends before the rank fails.
  std::chrono::milliseconds patience = kUsualPatience;
  /// Largest number of blocks of the kernels that exchange gradients: few, because each takes a
  /// multiprocessor from the products beside it.
  int exchange_blocks = 8;
};

/// Why this build or this computer cannot connect `ranks` GPUs, in one line with the fix; none if
/// it can.
[[nodiscard]] std::optional<std::string> why_no_gpu_fabric(int ranks);

/// One rank's collectives between GPUs, by NCCL, on one stream. Those that enqueue return at once;
/// every rank must call them in the same order, from one thread at a time. Gathers are run by copy
/// engines where the GPUs reach each other's memory, which takes no multiprocessor. Ranks meet
/// before each collective, so that it is enqueued on all of them or on none.
class GpuFabric : public Fabric {
 public:
  /// `links` reach the other ranks, whose fabric serves as the place to meet; they, `memory` and
  /// `stream` must outlive this object. Connects nothing yet.
  GpuFabric(const RankLinks& links, const FabricMemory& memory, CUstream_st* stream,
            const GpuFabricSettings& settings = {});
  /// Waits until what was enqueued has ended.
  ~GpuFabric() override;

  /// Connects with the GPUs of all ranks, which call it at the same time, and tries collectives
  /// between them; does nothing the second time. The collectives call it where nobody has. Throws
  /// EnvironmentError if NCCL fails or two ranks have one GPU, RankFailure if a rank fails.
  void connect();
  /// Whether gathers need no multiprocessor. Needs a connection.
  [[nodiscard]] bool gathers_by_copy_engines() const;

  [[nodiscard]] World world() const override { return links_.world(); }
  /// Enqueues a gather of `runs`, ranges of the memory (see all_gather). This rank's own run lies
  /// at `own`, or in its place if that is null. Throws RankFailure if a rank failed,
  /// EnvironmentError if NCCL does.
  void enqueue_gather(const RankRuns& runs, const Members& members, const std::byte* own = nullptr);
  /// Enqueues an exchange of ranges of the memory (see exchange). Throws as enqueue_gather.
  void enqueue_exchange(const RankRuns& own, std::span<std::byte> received, const Members& members);
  /// Enqueues the collective, and returns once it has ended.
  using Fabric::all_gather;
  void all_gather(const RankRuns& runs, const Members& members) override;
  using Fabric::exchange;
  void exchange(const RankRuns& own, std::span<std::byte> received,
                const Members& members) override;

  /// Throws RankFailure if a collective failed or does not end; cheap. Call it while waiting for
  /// work on any stream of the rank.
  void require_health() const;

 private:
  struct Connection;
  void meet();
  void wait();

  RankLinks links_;
  const FabricMemory& memory_;
  CUstream_st* stream_;
  GpuFabricSettings settings_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace sluice::engine
