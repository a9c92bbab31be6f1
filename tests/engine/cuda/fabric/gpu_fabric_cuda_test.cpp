// Collectives between GPUs: every byte arrives where it should, gathers need no multiprocessor, and
// a rank that fails ends all.
#include <atomic>
#include <chrono>

#include "engine/cuda/fabric/gpu_fabric.hpp"
#include "engine/cuda/kernels/gradient.hpp"
#include "engine/cuda/runtime/shared_memory.hpp"
#include "tests/engine/cuda/fabric/full_gpu.hpp"
#include "tests/engine/cuda/fabric/gpus.hpp"
#include "tests/engine/cuda/kernel_test.hpp"

namespace sluice::engine::cuda::testing {
namespace {

struct FabricStream {
  FabricStream() { succeed(cudaStreamCreateWithFlags(&value, cudaStreamNonBlocking), "a stream"); }
  ~FabricStream() { cudaStreamDestroy(value); }
  FabricStream(const FabricStream&) = delete;  // Owns the handle.
  FabricStream& operator=(const FabricStream&) = delete;
  cudaStream_t value = nullptr;
};

/// A rank's fabric between its memory and that of the others.
struct FabricGpu {
  FabricGpu(const RankLinks& links, std::size_t bytes)
      : memory(bytes, links.world().size), fabric(links, memory, stream.value) {
    fabric.connect();
  }
  [[nodiscard]] std::byte* data() const { return memory.bytes().data(); }
  void put(std::size_t at, const std::vector<unsigned char>& bytes) const {
    succeed(cudaMemcpy(data() + at, bytes.data(), bytes.size(), cudaMemcpyHostToDevice), "put");
    succeed(cudaDeviceSynchronize(), "put");
  }
  [[nodiscard]] std::vector<unsigned char> get(std::size_t at, std::size_t count) const {
    std::vector<unsigned char> bytes(count);
    succeed(cudaMemcpy(bytes.data(), data() + at, count, cudaMemcpyDeviceToHost), "get");
    return bytes;
  }
  FabricStream stream;
  FabricMemory memory;
  GpuFabric fabric;
};

/// Bytes that rank `from` has for rank `to` in a round.
std::vector<unsigned char> pattern_of(int from, int to, int round, std::size_t count) {
  std::vector<unsigned char> bytes(count);
  unsigned state = 1U + static_cast<unsigned>(from * 64 + to * 8 + round);
  for (unsigned char& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<unsigned char>(state >> 24);
  }
  return bytes;
}

constexpr std::size_t kRunSizes[] = {1, 777, 4096, 3 * 1024 * 1024 + 5, 32 * 1024 * 1024};

class GpuFabricTest : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    const std::string why = why_not_on_gpus(GetParam());
    if (!why.empty()) GTEST_SKIP() << why;
  }
};

TEST_P(GpuFabricTest, AGatherBringsEveryRanksRunToAllBesideKernels) {
  ThreadRanks ranks(GetParam());
  on_gpus(ranks, [&](const RankLinks& links) {
    const auto [rank, size] = links.world();
    const auto count = static_cast<std::size_t>(size);
    FabricGpu gpu(links, kRunSizes[4] * count);
    const FabricStream beside;
    const DeviceArray<float> sums(1 << 24), addends(1 << 24);
    for (const std::size_t bytes : kRunSizes) {
      for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 8; ++i) combine(beside.value, sums.data(), addends.data(), 1 << 24);
        gpu.put(0, std::vector<unsigned char>(bytes * count, 0xee));
        gpu.put(bytes * static_cast<std::size_t>(rank), pattern_of(rank, 0, round, bytes));
        gpu.fabric.all_gather(runs_of(gpu.memory.bytes().first(bytes * count), size));
        for (int peer = 0; peer < size; ++peer) {
          ASSERT_EQ(gpu.get(bytes * static_cast<std::size_t>(peer), bytes),
                    pattern_of(peer, 0, round, bytes))
              << "rank " << rank << ", run " << peer << ", " << bytes << " bytes";
        }
      }
    }
    succeed(cudaStreamSynchronize(beside.value), "kernels beside");
  });
}

TEST_P(GpuFabricTest, AGatherTakesARunThatLiesElsewhere) {
  ThreadRanks ranks(GetParam());
  on_gpus(ranks, [&](const RankLinks& links) {
    const auto [rank, size] = links.world();
    const auto count = static_cast<std::size_t>(size);
    FabricGpu gpu(links, kRunSizes[3] * (count + 1));
    for (const std::size_t bytes : {kRunSizes[1], kRunSizes[3]}) {
      gpu.put(0, std::vector<unsigned char>(bytes * count, 0xee));
      gpu.put(bytes * count, pattern_of(rank, 0, 0, bytes));
      gpu.fabric.enqueue_gather(runs_of(gpu.memory.bytes().first(bytes * count), size),
                                all_ranks(size), gpu.data() + bytes * count);
      succeed(cudaStreamSynchronize(gpu.stream.value), "the gather");
      for (int peer = 0; peer < size; ++peer) {
        ASSERT_EQ(gpu.get(bytes * static_cast<std::size_t>(peer), bytes),
                  pattern_of(peer, 0, 0, bytes))
            << "rank " << rank << ", run " << peer << ", " << bytes << " bytes";
      }
    }
  });
}

TEST_P(GpuFabricTest, AnExchangeOfPiecesBringsEachRankItsRunsAndChangesNothingElse) {
  ThreadRanks ranks(GetParam());
  on_gpus(ranks, [&](const RankLinks& links) {
    const auto [rank, size] = links.world();
    const auto count = static_cast<std::size_t>(size);
    constexpr std::size_t kGap = 4096;  // Runs are parts of longer slices.
    FabricGpu gpu(links, (2 * kRunSizes[4] + kGap) * count);
    for (const std::size_t bytes : kRunSizes) {
      const std::size_t stride = bytes + kGap, place = stride * count;
      for (int round = 0; round < 3; ++round) {
        for (int to = 0; to < size; ++to) {
          gpu.put(stride * static_cast<std::size_t>(to), pattern_of(rank, to, round, bytes));
        }
        gpu.put(place, std::vector<unsigned char>(bytes * (count - 1), 0xee));
        gpu.fabric.exchange({gpu.data(), bytes, stride}, {gpu.data() + place, bytes * (count - 1)});
        for (int peer = 0; peer < size; ++peer) {
          ASSERT_EQ(gpu.get(stride * static_cast<std::size_t>(peer), bytes),
                    pattern_of(rank, peer, round, bytes));
          if (peer == rank) continue;
          ASSERT_EQ(gpu.get(place + peer_index(rank, peer) * bytes, bytes),
                    pattern_of(peer, rank, round, bytes))
              << "rank " << rank << " from " << peer << ", " << bytes << " bytes";
        }
      }
    }
  });
}

TEST_P(GpuFabricTest, AGatherNeedsNoMultiprocessor) {
  ThreadRanks ranks(GetParam());
  std::atomic<bool> by_copy_engines{true};
  on_gpus(ranks, [&](const RankLinks& links) {
    const auto [rank, size] = links.world();
    constexpr std::size_t kBytes = 16 * 1024 * 1024;
    FabricGpu gpu(links, kBytes * static_cast<std::size_t>(size));
    if (!gpu.fabric.gathers_by_copy_engines()) {
      by_copy_engines = false;
      return;
    }
    const SharedMemory shared(sizeof(int));
    auto* ended = reinterpret_cast<volatile int*>(shared.data());
    const FabricStream full;
    // Kernels are loaded when they run for the first time.
    *ended = 1;
    occupy_all_multiprocessors(full.value, ended);
    succeed(cudaStreamSynchronize(full.value), "a kernel");
    gpu.put(kBytes * static_cast<std::size_t>(rank), pattern_of(rank, 0, 0, kBytes));
    *ended = 0;
    occupy_all_multiprocessors(full.value, ended);
    links.control->barrier();
    gpu.fabric.enqueue_gather(runs_of(gpu.memory.bytes(), size), all_ranks(size));
    // What needs a multiprocessor would wait for the kernel's end, which comes after the gather's.
    const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    cudaError_t gather = cudaErrorNotReady;
    while (gather == cudaErrorNotReady && std::chrono::steady_clock::now() < latest) {
      gather = cudaStreamQuery(gpu.stream.value);
    }
    const cudaError_t kernel = cudaStreamQuery(full.value);
    *ended = 1;
    succeed(cudaStreamSynchronize(full.value), "a kernel");
    EXPECT_EQ(gather, cudaSuccess) << "the gather waited for a multiprocessor";
    EXPECT_EQ(kernel, cudaErrorNotReady) << "the kernel that left no room had ended";
    succeed(cudaStreamSynchronize(gpu.stream.value), "the gather");
    for (int peer = 0; peer < size; ++peer) {
      ASSERT_EQ(gpu.get(kBytes * static_cast<std::size_t>(peer), kBytes),
                pattern_of(peer, 0, 0, kBytes));
    }
  });
  if (!by_copy_engines)
    GTEST_SKIP() << "copy engines cannot gather here, for the reason that is printed above";
}

TEST_P(GpuFabricTest, ARankThatFailsEndsAllAndLeavesNoStreamWaiting) {
  ThreadRanks ranks(GetParam());
  std::atomic<int> ended{0};
  try {
    on_gpus(ranks, [&](const RankLinks& links) {
      const auto [rank, size] = links.world();
      constexpr std::size_t kBytes = 1024 * 1024;
      FabricGpu gpu(links, kBytes * static_cast<std::size_t>(size));
      try {
        for (int i = 0; i < 200; ++i) {
          if (rank == 1 && i == 100) throw EnvironmentError("the disk is full");
          gpu.fabric.enqueue_gather(runs_of(gpu.memory.bytes(), size), all_ranks(size));
        }
        ADD_FAILURE() << "rank " << rank << " met a rank that had failed";
      } catch (const RankFailure& failure) {
        EXPECT_EQ(failure.rank(), 1);
        EXPECT_STREQ(failure.what(), "rank 1 failed: the disk is full");
        EXPECT_THROW(gpu.fabric.require_health(), RankFailure);
        ++ended;
        succeed(cudaStreamSynchronize(gpu.stream.value), "what was enqueued ends");
        throw;
      }
    });
    ADD_FAILURE() << "nobody failed";
  } catch (const EnvironmentError& error) {
    EXPECT_STREQ(error.what(), "the disk is full");
  }
  EXPECT_EQ(ended, GetParam() - 1);
}

INSTANTIATE_TEST_SUITE_P(Gpus, GpuFabricTest, ::testing::ValuesIn(kGpus),
                         [](const auto& info) { return std::to_string(info.param); });

}  // namespace
}  // namespace sluice::engine::cuda::testing
