// Ranks as threads, by copies from arena to arena and by Gloo: what they tell each other, the bytes
// that collectives move, and how all of them end when one fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "engine/ranks/agreement.hpp"
#include "engine/ranks/equal_hosts.hpp"
#include "engine/ranks/gloo_rank.hpp"
#include "engine/ranks/own_devices.hpp"
#include "engine/ranks/thread_ranks.hpp"

namespace sluice::engine::test {
namespace {

using std::chrono::milliseconds;

enum class By { copies, gloo };

/// Runs `body` on a thread for each of `size` ranks. Returns the message of what each threw, empty
/// for those that threw nothing.
std::vector<std::string> run_ranks(By by, int size, milliseconds patience,
                                   const std::function<void(Control&, Fabric&)>& body) {
  ThreadRanks threads(size, patience);
  MemoryBoard board;
  std::vector<std::string> lines(static_cast<std::size_t>(size));
  std::vector<std::thread> all;
  for (int rank = 0; rank < size; ++rank) {
    all.emplace_back([&, rank] {
      try {
        if (by == By::copies) return body(threads.control(rank), threads.fabric(rank));
        GlooRank mine({rank, size}, board, {.patience = patience});
        body(mine.control(), mine.fabric());
        mine.control().barrier();
      } catch (const std::exception& error) {
        lines[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  }
  for (std::thread& each : all) each.join();
  return lines;
}

class Ranks : public ::testing::TestWithParam<std::tuple<By, int>> {
 protected:
  void SetUp() override {
    if (by() == By::gloo && !has_gloo()) GTEST_SKIP() << "this build has no Gloo (libgloo-dev)";
  }
  static By by() { return std::get<0>(GetParam()); }
  static int size() { return std::get<1>(GetParam()); }
  std::vector<std::string> run(const std::function<void(Control&, Fabric&)>& body,
                               milliseconds patience = std::chrono::minutes(1)) {
    return run_ranks(by(), size(), patience, body);
  }
  /// What `run` returns where nothing fails.
  static std::vector<std::string> nothing() {
    return std::vector<std::string>(static_cast<std::size_t>(size()));
  }
};

std::byte value_of(int from, int run, std::size_t i) {
  return static_cast<std::byte>(static_cast<std::size_t>(from * 31 + run * 7 + 1) + i % 5);
}

TEST_P(Ranks, GatherTextsOfAllLengthsByRank) {
  std::atomic<int> right{0};
  const auto lines = run([&](Control& control, Fabric&) {
    const auto [rank, size] = control.world();
    for (int time = 0; time < 20; ++time) {
      std::vector<std::string> expected;
      for (int each = 0; each < size; ++each) {
        const auto length = static_cast<std::size_t>(each * time * 100);
        expected.emplace_back(length, static_cast<char>('a' + each));
      }
      right += control.gather(expected[static_cast<std::size_t>(rank)]) == expected ? 1 : 0;
    }
    right += control.broadcast("from " + std::to_string(rank), size - 1) ==
                     "from " + std::to_string(size - 1)
                 ? 1
                 : 0;
  });
  EXPECT_EQ(lines, nothing());
  EXPECT_EQ(right.load(), 21 * size());
}

TEST(EqualHosts, HoldRunsOfEquallyManyRanks) {
  EXPECT_EQ(equal_hosts({"a", "a", "b", "b"})->local, 2);
  EXPECT_FALSE(equal_hosts({}));
  EXPECT_FALSE(equal_hosts({"a", "a"}));
  EXPECT_FALSE(equal_hosts({"a", "b"}));
  EXPECT_FALSE(equal_hosts({"a", "b", "a", "b"}));
  EXPECT_FALSE(equal_hosts({"a", "a", "a", "b"}));
}

TEST(EqualHosts, GatherByWayOfTheRanksOfOnePlace) {
  if (!has_gloo()) GTEST_SKIP() << "this build has no Gloo (libgloo-dev)";
  constexpr int kSize = 6;
  constexpr std::size_t kRun = 10'000;
  MemoryBoard board;
  std::atomic<int> right{0};
  std::vector<std::thread> all;
  for (int rank = 0; rank < kSize; ++rank) {
    all.emplace_back([&, rank] {
      GlooRank mine({rank, kSize}, board, {.hosts = {"a", "a", "b", "b", "c", "c"}});
      std::vector<std::byte> whole(kSize * kRun), expected(kSize * kRun);
      for (std::size_t i = 0; i < whole.size(); ++i) {
        const int from = static_cast<int>(i / kRun);
        expected[i] = value_of(from, from, i);
        if (from == rank) whole[i] = expected[i];
      }
      mine.fabric().all_gather(runs_of(whole, kSize));
      right += whole == expected ? 1 : 0;
      mine.control().barrier();
    });
  }
  for (std::thread& each : all) each.join();
  EXPECT_EQ(right.load(), kSize);
}

TEST_P(Ranks, AllGatherWritesEachRunToAllAndChangesNoOwnRun) {
  std::atomic<int> wrong{0};
  const auto lines = run([&](Control&, Fabric& fabric) {
    const auto [rank, size] = fabric.world();
    for (const std::size_t run : {std::size_t{1}, std::size_t{4096}, std::size_t{300000}}) {
      std::vector<std::byte> whole(run * static_cast<std::size_t>(size));
      for (std::size_t i = 0; i < run; ++i) {
        whole[static_cast<std::size_t>(rank) * run + i] = value_of(rank, rank, i);
      }
      fabric.all_gather(runs_of(whole, fabric.world().size));
      for (int from = 0; from < size; ++from) {
        for (std::size_t i = 0; i < run; ++i) {
          const std::byte found = whole[static_cast<std::size_t>(from) * run + i];
          wrong += found == value_of(from, from, i) ? 0 : 1;
        }
      }
    }
  });
  EXPECT_EQ(lines, nothing());
  EXPECT_EQ(wrong.load(), 0);
}

TEST_P(Ranks, AllGatherAmongSomeBringsTheirRunsAlone) {
  std::atomic<int> wrong{0};
  const auto lines = run([&](Control&, Fabric& fabric) {
    const auto [rank, size] = fabric.world();
    if (size % 2 != 0) return;
    constexpr std::size_t kRun = 5000;
    for (const Members& members : {ranks_of_host(rank, 2), ranks_at_place(rank, 2, size)}) {
      const std::byte untouched{0x5A};
      std::vector<std::byte> whole(kRun * static_cast<std::size_t>(members.count + 1), untouched);
      const auto index = static_cast<std::size_t>(members.index_of(rank));
      for (std::size_t i = 0; i < kRun; ++i) whole[index * kRun + i] = value_of(rank, rank, i);
      fabric.all_gather({whole.data(), kRun, kRun}, members);
      for (std::size_t i = 0; i < whole.size(); ++i) {
        const auto run = static_cast<int>(i / kRun);
        const int from = members.rank(run);
        const std::byte expected = run < members.count ? value_of(from, from, i % kRun) : untouched;
        wrong += whole[i] == expected ? 0 : 1;
      }
    }
  });
  EXPECT_EQ(lines, nothing());
  EXPECT_EQ(wrong.load(), 0);
}

TEST_P(Ranks, ExchangeBringsEachPeersRunOfTheOwnSlice) {
  std::atomic<int> wrong{0};
  const auto lines = run([&](Control&, Fabric& fabric) {
    const auto [rank, size] = fabric.world();
    for (const std::size_t run : {std::size_t{4}, std::size_t{100000}}) {
      const auto runs = static_cast<std::size_t>(size);
      std::vector<std::byte> own(run * runs), received(run * (runs - 1));
      for (int to = 0; to < size; ++to) {
        for (std::size_t i = 0; i < run; ++i) {
          own[static_cast<std::size_t>(to) * run + i] = value_of(rank, to, i);
        }
      }
      const std::vector<std::byte> before = own;
      fabric.exchange(runs_of(own, size), received);
      wrong += own == before ? 0 : 1;
      for (int from = 0; from < size; ++from) {
        if (from == rank) continue;
        const std::size_t at = peer_index(rank, from) * run;
        for (std::size_t i = 0; i < run; ++i) {
          wrong += received[at + i] == value_of(from, rank, i) ? 0 : 1;
        }
      }
    }
  });
  EXPECT_EQ(lines, nothing());
  EXPECT_EQ(wrong.load(), 0);
}

TEST_P(Ranks, ExchangeAmongThoseOfAHostAndAmongThoseOfAPlace) {
  if (size() % 2 != 0) GTEST_SKIP() << "hosts of two ranks";
  constexpr std::size_t kRun = 3000;
  std::atomic<int> wrong{0};
  const auto lines = run([&](Control&, Fabric& fabric) {
    const auto [rank, size] = fabric.world();
    for (const Members& members : {ranks_of_host(rank, 2), ranks_at_place(rank, 2, size)}) {
      std::vector<std::byte> own(kRun * static_cast<std::size_t>(members.count));
      std::vector<std::byte> received(own.size() - kRun);
      const RankRuns runs = runs_of(own, members.count);
      for (int i = 0; i < members.count; ++i) {
        std::ranges::fill(runs.of(i), value_of(rank, members.rank(i), 0));
      }
      fabric.exchange(runs, received, members);
      std::span<const std::byte> next = received;
      for (int i = 0; i < members.count; ++i) {
        const int from = members.rank(i);
        wrong += members.has(from) && members.index_of(from) == i ? 0 : 1;
        if (from == rank) continue;
        const std::byte value = value_of(from, rank, 0);
        wrong +=
            std::ranges::all_of(next.first(kRun), [&](std::byte each) { return each == value; })
                ? 0
                : 1;
        next = next.subspan(kRun);
      }
    }
  });
  EXPECT_EQ(lines, nothing());
  EXPECT_EQ(wrong.load(), 0);
}

TEST_P(Ranks, MovePiecesOfRunsThatAreApart) {
  constexpr std::size_t kRun = 1000, kFirst = 300, kPiece = 200;
  std::atomic<int> wrong{0};
  const auto lines = run([&](Control&, Fabric& fabric) {
    const auto [rank, size] = fabric.world();
    const auto runs = static_cast<std::size_t>(size);
    std::vector<std::byte> own(kRun * runs), received(kPiece * (runs - 1));
    const RankRuns whole = runs_of(own, size);
    const RankRuns pieces{own.data() + kFirst, kPiece, kRun};
    const auto holds = [](std::span<const std::byte> bytes, std::byte value, std::size_t count) {
      return std::ranges::count(bytes, value) == static_cast<std::ptrdiff_t>(count);
    };
    for (int to = 0; to < size; ++to) std::ranges::fill(whole.of(to), value_of(rank, to, 0));
    fabric.exchange(pieces, received);
    for (int from = 0; from < size; ++from) {
      if (from == rank) continue;
      const auto piece = std::span(received).subspan(peer_index(rank, from) * kPiece, kPiece);
      wrong += holds(piece, value_of(from, rank, 0), kPiece) ? 0 : 1;
    }
    fabric.all_gather(pieces);
    for (int to = 0; to < size; ++to) {
      wrong += holds(whole.of(to), value_of(to, to, 0), to == rank ? kRun : kPiece) ? 0 : 1;
    }
  });
  EXPECT_EQ(lines, nothing());
  EXPECT_EQ(wrong.load(), 0);
}

TEST_P(Ranks, ControlAndFabricWorkSideBySide) {
  std::atomic<int> right{0};
  const auto lines = run([&](Control& control, Fabric& fabric) {
    const auto [rank, size] = control.world();
    std::vector<std::byte> whole(static_cast<std::size_t>(size) * 1000);
    std::thread other([&fabric, &whole] {
      for (int time = 0; time < 50; ++time) fabric.all_gather(runs_of(whole, fabric.world().size));
    });
    for (int time = 0; time < 50; ++time) {
      right +=
          control.gather(std::to_string(time * rank)).back() == std::to_string(time * (size - 1))
              ? 1
              : 0;
    }
    other.join();
  });
  EXPECT_EQ(lines, nothing());
  EXPECT_EQ(right.load(), 50 * size());
}

TEST_P(Ranks, EndTogetherInOneLineThatNamesTheRankThatFailed) {
  const int failing = size() - 1;
  const auto lines = run([&](Control& control, Fabric& fabric) {
    control.barrier();
    if (control.world().rank == failing) {
      control.fail("the disk of /data is full");
      throw EnvironmentError("the disk of /data is full");
    }
    std::vector<std::byte> whole(static_cast<std::size_t>(size()) * 8);
    fabric.all_gather(runs_of(whole, fabric.world().size));
  });
  for (int rank = 0; rank < size(); ++rank) {
    EXPECT_EQ(lines[static_cast<std::size_t>(rank)],
              rank == failing
                  ? "the disk of /data is full"
                  : "rank " + std::to_string(failing) + " failed: the disk of /data is full");
  }
}

TEST_P(Ranks, EndTogetherWhereOneStaysAwayLongerThanTheirPatience) {
  std::atomic<int> ended{0};
  const auto begin = std::chrono::steady_clock::now();
  const auto lines = run(
      [&](Control& control, Fabric& fabric) {
        control.barrier();
        if (control.world().rank == 1) {
          while (ended.load() < size() - 1) std::this_thread::yield();
          return control.barrier();
        }
        std::vector<std::byte> whole(static_cast<std::size_t>(size()) * 8);
        try {
          fabric.all_gather(runs_of(whole, fabric.world().size));
        } catch (const RankFailure&) {
          ++ended;
          throw;
        }
      },
      milliseconds(200));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  for (const std::string& line : lines) {
    EXPECT_EQ(line,
              "rank 1 did not answer for 0.2 s: see whether its process hangs or never started");
  }
}

TEST_P(Ranks, AreRefusedWhereOneHasAnotherJobPlanOrNumericsId) {
  const std::vector<std::string> names = {"job hash", "numerics id", "plan hash"};
  for (std::size_t differs = 0; differs < names.size(); ++differs) {
    const auto lines = run([&](Control& control, Fabric&) {
      std::vector<AgreedFact> facts;
      for (const std::string& name : names) {
        facts.push_back({name, std::string(40, 'a'), "start all ranks with one RUN.yaml"});
      }
      if (control.world().rank == 1) facts[differs].value[3] = 'b';
      require_agreement(control, facts);
    });
    for (const std::string& line : lines) {
      EXPECT_EQ(line, "rank 1 has another " + names[differs] +
                          " than rank 0 (aaabaaaaaaaaaaaa... instead of aaaaaaaaaaaaaaaa...): "
                          "start all ranks with one RUN.yaml");
    }
  }
}

std::string name_of(const ::testing::TestParamInfo<std::tuple<By, int>>& info) {
  return std::string(std::get<0>(info.param) == By::copies ? "Copies" : "Gloo") +
         std::to_string(std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Of, Ranks,
                         ::testing::Combine(::testing::Values(By::copies, By::gloo),
                                            ::testing::Values(2, 3, 4)),
                         name_of);

TEST(OneRank, TalksToItselfAndMovesNothing) {
  ThreadRanks threads(1);
  EXPECT_EQ(threads.control(0).gather("x"), std::vector<std::string>{"x"});
  std::vector<std::byte> whole(16, std::byte{3});
  const std::vector<std::byte> before = whole;
  threads.fabric(0).all_gather(runs_of(whole, 1));
  threads.fabric(0).exchange(runs_of(whole, 1), {});
  EXPECT_EQ(whole, before);
}

TEST(Fabric, RefusesRangesThatItCannotCutIntoEqualRuns) {
  std::vector<std::byte> odd(15);
  EXPECT_THROW((void)runs_of(odd, 2), std::logic_error);
}

TEST(OwnDevices, TwoRanksOnOneGpuAreRefusedByTheirNumbers) {
  EXPECT_FALSE(why_devices_are_shared({"GPU-a", "GPU-b", "GPU-c"}));
  const auto why = why_devices_are_shared({"GPU-a", "GPU-b", "GPU-c", "GPU-b"});
  ASSERT_TRUE(why);
  EXPECT_NE(why->find("ranks 1 and 3 have one GPU (GPU-b)"), std::string::npos) << *why;
  EXPECT_NE(why->find("CUDA_VISIBLE_DEVICES"), std::string::npos);
}

}  // namespace
}  // namespace sluice::engine::test
