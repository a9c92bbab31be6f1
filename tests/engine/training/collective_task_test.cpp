// Collectives of a step graph's tasks: which bytes of which ranks they bring where.
#include "engine/training/collective_task.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "engine/execution/task_operands.hpp"
#include "engine/ranks/thread_ranks.hpp"

namespace sluice::engine::test {
namespace {

constexpr int kSize = 8, kLocal = 2, kOfHosts = kSize / kLocal;
constexpr std::size_t kSlice = 40;  ///< Floats of a rank's slice.

/// Value of rank `rank`'s own sum of the slice `slice`.
float sum_value(int rank, int slice) { return static_cast<float>(100 * rank + slice); }

BoundAccess slice_access(std::vector<float>& gradient, int slice) {
  return {planner::Role::gradient, planner::Mode::read,
          reinterpret_cast<std::byte*>(gradient.data() + kSlice * static_cast<std::size_t>(slice)),
          Bytes(4 * kSlice), Bytes(4 * kSlice)};
}

BoundTask exchange_task(int rank, const Members& members, std::vector<BoundAccess> slices,
                        std::vector<float>& received) {
  received.assign(kSlice * slices.size() * static_cast<std::size_t>(members.count - 1), -1);
  slices.push_back({planner::Role::received, planner::Mode::write,
                    reinterpret_cast<std::byte*>(received.data()),
                    Bytes(static_cast<std::int64_t>(4 * received.size()))});
  return {.kind = planner::TaskKind::exchange_gradients,
          .lane = planner::LaneKind::fabric,
          .rank = rank,
          .ranks = kSize,
          .members = members,
          .accesses = std::move(slices)};
}

/// Calls `body` on a thread for each of the ranks, with its fabric and its own sums of all slices.
template <class Body>
void on_every_rank(const Body& body) {
  ThreadRanks ranks(kSize, std::chrono::minutes(1));
  std::vector<std::thread> all;
  for (int rank = 0; rank < kSize; ++rank) {
    all.emplace_back([&, rank] {
      std::vector<float> gradient(kSlice * kSize);
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        gradient[i] = sum_value(rank, static_cast<int>(i / kSlice));
      }
      body(rank, ranks.fabric(rank), gradient);
    });
  }
  for (std::thread& each : all) each.join();
}

/// Whether the elements of run `run` of `received` are all `value`.
bool holds(const std::vector<float>& received, int run, float value) {
  const auto first = received.begin() + static_cast<std::ptrdiff_t>(kSlice) * run;
  return std::all_of(first, first + kSlice, [value](float each) { return each == value; });
}

TEST(CollectiveTask, InsideAHostBringsTheSlicesOfThePlaceOnEveryHost) {
  std::array<int, kSize> right{};
  on_every_rank([&](int rank, Fabric& fabric, std::vector<float>& gradient) {
    const int place = rank % kLocal, peer = rank / kLocal * kLocal + (1 - place);
    std::vector<BoundAccess> slices;
    for (int host = 0; host < kOfHosts; ++host) {
      slices.push_back(slice_access(gradient, host * kLocal + place));
    }
    std::vector<float> received;
    const BoundTask task =
        exchange_task(rank, ranks_of_host(rank, kLocal), std::move(slices), received);
    run_collective(task, fabric);
    for (int host = 0; host < kOfHosts; ++host) {
      const bool same = holds(received, host, sum_value(peer, host * kLocal + place));
      right[static_cast<std::size_t>(rank)] += same ? 1 : 0;
    }
  });
  EXPECT_EQ(std::ranges::count(right, kOfHosts), kSize);
}

TEST(CollectiveTask, BetweenHostsBringsTheOwnSliceFromTheRanksOfThePlace) {
  std::array<int, kSize> right{};
  on_every_rank([&](int rank, Fabric& fabric, std::vector<float>& gradient) {
    std::vector<float> received;
    const BoundTask task = exchange_task(rank, ranks_at_place(rank, kLocal, kSize),
                                         {slice_access(gradient, rank)}, received);
    run_collective(task, fabric);
    int run = 0;
    for (int from = rank % kLocal; from < kSize; from += kLocal) {
      if (from == rank) continue;
      right[static_cast<std::size_t>(rank)] +=
          holds(received, run++, sum_value(from, rank)) ? 1 : 0;
    }
  });
  EXPECT_EQ(std::ranges::count(right, kOfHosts - 1), kSize);
}

}  // namespace
}  // namespace sluice::engine::test
