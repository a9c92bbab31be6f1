// What the ranks of a part share: a barrier, numbers, addresses, and the switches and counters of
// the loads. It lies in memory that forked processes share, so that a rank may be a thread or a
// process.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace sluice::several_gpus {

using Clock = std::chrono::steady_clock;

constexpr int kMostRanks = 8;

/// What runs beside a collective.
enum class Load { h2d, d2h, adamw, gemm };
constexpr int kLoads = 4;

/// Sets of loads, one bit each.
constexpr unsigned bit(Load load) { return 1u << static_cast<int>(load); }

/// Rates of all loads of the host together, in 1e9 a second: bytes copied to and from the GPUs,
/// parameters updated, operations of matrix products.
using Rates = std::array<double, kLoads>;

class Board {
 public:
  /// A board for `ranks` ranks in memory that processes forked from now on share; it lives as long
  /// as they do.
  static Board& make(int ranks);

  /// Returns once all ranks called it. A rank that waits longer than 40 s ends its process with
  /// exit code 3.
  void meet();
  /// The largest of all ranks' values; every rank calls it.
  double most(int rank, double value);
  /// The sum of all ranks' values, modulo 2^64; every rank calls it.
  std::uint64_t sum(int rank, std::uint64_t value);

  void count(Load load, int rank, std::uint64_t amount) {
    counts_[static_cast<int>(load)][rank].amount.fetch_add(amount, std::memory_order_relaxed);
  }
  /// What each load has done so far, on all ranks together.
  [[nodiscard]] std::array<std::uint64_t, kLoads> counted() const;
  [[nodiscard]] bool wanted(Load load) const { return (loads.load() & bit(load)) != 0; }

  int ranks = 1;
  std::atomic<unsigned> loads{0};        ///< Loads that run now, as bits.
  std::atomic<int> copying{kMostRanks};  ///< Copies run on ranks below this.
  std::atomic<int> updating{1024};       ///< Threads of AdamW that work, over all ranks.
  std::array<char, 128> id{};            ///< NCCL's unique id of the communicator being made.
  std::array<void*, kMostRanks>
      address{};  ///< Addresses that ranks of one process show each other.
  std::array<cudaIpcMemHandle_t, kMostRanks> handle{};  ///< Handles that processes show each other.

 private:
  struct alignas(64) Counter {
    std::atomic<std::uint64_t> amount{0};
  };
  std::atomic<int> arrived_{0};
  std::atomic<int> generation_{0};
  std::array<double, kMostRanks> values_{};
  std::array<std::uint64_t, kMostRanks> words_{};
  std::array<std::array<Counter, kMostRanks>, kLoads> counts_;
};

/// One GPU's place among all.
struct Rank {
  int id;
  int of;
  bool process;  ///< Whether each rank is a process; else all are threads of one.
  Board& board;
};

}  // namespace sluice::several_gpus
