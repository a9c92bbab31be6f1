// Ranks as processes, which meet in a folder: collectives, and what the others say when one is
// killed, hangs or never comes.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "engine/ranks/gloo_rank.hpp"
#include "engine/ranks/process_mark.hpp"
#include "engine/ranks/shared_arena.hpp"
#include "sim/error.hpp"
#include "tests/engine/scratch_folder.hpp"

namespace sluice::engine::test {
namespace {

using std::chrono::milliseconds;

/// Processes that are ranks: each runs a body, and leaves its last line in a file.
class RankProcesses {
 public:
  using Body = std::function<void(GlooRank& rank)>;

  RankProcesses(int size, milliseconds patience) : size_(size), patience_(patience) {}
  ~RankProcesses() {
    for (const pid_t each : processes_) {
      if (each > 0) kill(each, SIGKILL);
      if (each > 0) waitpid(each, nullptr, 0);
    }
  }
  RankProcesses(const RankProcesses&) = delete;  // It waits for its processes.
  RankProcesses& operator=(const RankProcesses&) = delete;

  void start(int rank, const Body& body) {
    const pid_t child = fork();
    if (child == 0) {
      std::string line = "done";
      try {
        FolderBoard board(folder_.path() / "board");
        GlooRank mine({rank, size_}, board, {.patience = patience_});
        body(mine);
        mine.control().barrier();
      } catch (const std::exception& error) {
        line = error.what();
      }
      std::ofstream(file_of(rank)) << line << std::flush;
      _exit(0);
    }
    processes_.push_back(child);
  }
  void signal(int started, int number) {
    ASSERT_EQ(kill(processes_[static_cast<std::size_t>(started)], number), 0);
  }
  /// Waits for the process that was started as number `started` and returns its rank's line; empty
  /// if it was killed.
  std::string line_of(int started, int rank) {
    pid_t& process = processes_[static_cast<std::size_t>(started)];
    int status = 0;
    if (process > 0) waitpid(process, &status, 0);
    process = 0;
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL) {
      return "ended by signal " + std::to_string(WTERMSIG(status));
    }
    std::ifstream file(file_of(rank));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] std::filesystem::path path(const std::string& name) const {
    return folder_.path() / name;
  }

 private:
  std::filesystem::path file_of(int rank) const { return path("line-" + std::to_string(rank)); }
  ScratchFolder folder_;
  int size_;
  milliseconds patience_;
  std::vector<pid_t> processes_;
};

void gather_once(GlooRank& rank, unsigned char add) {
  const auto [me, size] = rank.fabric().world();
  std::vector<std::byte> whole(static_cast<std::size_t>(size) * 5000);
  const auto value = [&](int of) { return static_cast<std::byte>(of + 1 + add); };
  std::fill_n(whole.begin() + me * 5000, 5000, value(me));
  rank.fabric().all_gather(runs_of(whole, size));
  for (int each = 0; each < size; ++each) {
    const auto run = std::span(whole).subspan(static_cast<std::size_t>(each) * 5000, 5000);
    const bool right =
        std::all_of(run.begin(), run.end(), [&](std::byte b) { return b == value(each); });
    if (!right) throw std::runtime_error("wrong bytes of rank " + std::to_string(each));
  }
}

TEST(SharedArena, IsOneMemoryForTheProcessesOfAHost) {
  if (!has_gloo()) GTEST_SKIP() << "this build has no Gloo (libgloo-dev)";
  constexpr int kSize = 4, kLocal = 2;
  RankProcesses ranks(kSize, std::chrono::minutes(1));
  for (int rank = 0; rank < kSize; ++rank) {
    ranks.start(rank, [](GlooRank& mine) {
      const int me = mine.control().world().rank;
      const auto arena = share_among_processes(Bytes(10'000), mine.control(), kLocal);
      const std::span<std::byte> bytes = arena->bytes();
      const bool unwritten =
          std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0xFF}; });
      mine.control().barrier();
      bytes[static_cast<std::size_t>(me % kLocal)] = static_cast<std::byte>(me);
      mine.control().barrier();
      const int first = me / kLocal * kLocal;
      if (unwritten && bytes[0] == static_cast<std::byte>(first) &&
          bytes[1] == static_cast<std::byte>(first + 1)) {
        return;
      }
      throw std::runtime_error("other bytes than the ranks of the host wrote");
    });
  }
  for (int rank = 0; rank < kSize; ++rank) EXPECT_EQ(ranks.line_of(rank, rank), "done");
}

TEST(SharedArena, OpensNoOtherMemory) {
  const SharedArena arena(Bytes(4096));
  EXPECT_NO_THROW(SharedArena(Bytes(4096), arena.address()));
  EXPECT_THROW(SharedArena(Bytes(4096), arena.address() + "1"), EnvironmentError);
  EXPECT_THROW(SharedArena(Bytes(4096), "/proc/self/fd/9999 1:1:1.1"), EnvironmentError);
}

class Processes : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (!has_gloo()) GTEST_SKIP() << "this build has no Gloo (libgloo-dev)";
  }
};

TEST_P(Processes, MeetInAFolderAndMoveBytes) {
  RankProcesses ranks(GetParam(), std::chrono::minutes(1));
  for (int rank = 0; rank < GetParam(); ++rank) {
    ranks.start(rank, [](GlooRank& mine) {
      for (unsigned char time = 0; time < 30; ++time) gather_once(mine, time);
    });
  }
  for (int rank = 0; rank < GetParam(); ++rank) EXPECT_EQ(ranks.line_of(rank, rank), "done");
}

/// Ranks that gather until something ends them; `name` appears once rank 0 is at work.
void gather_for_ever(RankProcesses& ranks, int size) {
  for (int rank = 0; rank < size; ++rank) {
    ranks.start(rank, [at_work = ranks.path("at-work")](GlooRank& mine) {
      for (unsigned char time = 0;; ++time) {
        gather_once(mine, time);
        if (time == 3 && mine.control().world().rank == 0) std::ofstream(at_work) << "yes";
      }
    });
  }
  while (!std::filesystem::exists(ranks.path("at-work"))) usleep(1000);
}

TEST_P(Processes, EndInOneLineWhereOneIsKilled) {
  RankProcesses ranks(GetParam(), std::chrono::minutes(1));
  gather_for_ever(ranks, GetParam());
  ranks.signal(1, SIGKILL);
  EXPECT_EQ(ranks.line_of(1, 1), "");
  for (int rank = 0; rank < GetParam(); ++rank) {
    if (rank == 1) continue;
    EXPECT_EQ(ranks.line_of(rank, rank),
              "rank 1 ended and said nothing: see what its process and the system wrote (was it "
              "killed, or is memory short?)");
  }
}

TEST_P(Processes, EndInOneLineWhereOneHangs) {
  RankProcesses ranks(GetParam(), milliseconds(500));
  gather_for_ever(ranks, GetParam());
  ranks.signal(1, SIGSTOP);
  for (int rank = 0; rank < GetParam(); ++rank) {
    if (rank == 1) continue;
    EXPECT_EQ(ranks.line_of(rank, rank),
              "rank 1 did not answer for 0.5 s: see whether its process hangs or never started");
  }
}

TEST_P(Processes, EndInOneLineWhereOneNeverComes) {
  RankProcesses ranks(GetParam(), milliseconds(300));
  for (int rank = 0; rank + 1 < GetParam(); ++rank) ranks.start(rank, [](GlooRank&) {});
  for (int rank = 0; rank + 1 < GetParam(); ++rank) {
    EXPECT_EQ(ranks.line_of(rank, rank),
              "rank " + std::to_string(GetParam() - 1) +
                  " did not answer for 0.3 s: see whether its process hangs or never started");
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Processes, ::testing::Values(2, 3, 4));

TEST(ProcessesOfOneRank, AreRefusedButTheFirst) {
  if (!has_gloo()) GTEST_SKIP() << "this build has no Gloo (libgloo-dev)";
  const ScratchFolder folder;
  FolderBoard board(folder.path());
  ASSERT_TRUE(board.post("rank-0", "an address"));
  try {
    GlooRank({0, 2}, board, {.patience = milliseconds(100)});
    ADD_FAILURE() << "a rank that is there already was taken";
  } catch (const BadRequest& error) {
    EXPECT_EQ(std::string(error.what()),
              "rendezvous: " + folder.path().string() +
                  " has rank 0 already: give each rank a number of its own, and each start a new "
                  "folder");
  }
}

TEST(ProcessMark, TellsAProcessThatHasEnded) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    const std::string mark = own_process_mark();
    _exit(::write(ends[1], mark.data(), mark.size()) == std::ssize(mark) && pause() == 0 ? 0 : 1);
  }
  std::string mark(500, '\0');
  mark.resize(static_cast<std::size_t>(::read(ends[0], mark.data(), mark.size())));
  EXPECT_FALSE(is_gone(own_process_mark()));
  EXPECT_FALSE(is_gone(mark));
  kill(child, SIGKILL);
  while (!is_gone(mark)) usleep(1000);  // A zombie is gone.
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(is_gone(mark));
  EXPECT_FALSE(is_gone("another-boot/pid:[1] 1 5"));
  EXPECT_FALSE(is_gone(""));
  close(ends[0]);
  close(ends[1]);
}

TEST(Board, KeepsTheFirstText) {
  const ScratchFolder folder;
  FolderBoard in_folder(folder.path() / "new");
  MemoryBoard in_memory;
  for (Board* board : {static_cast<Board*>(&in_folder), static_cast<Board*>(&in_memory)}) {
    EXPECT_FALSE(board->find("a").has_value());
    EXPECT_TRUE(board->post("a", "first\nline"));
    EXPECT_FALSE(board->post("a", "second"));
    EXPECT_EQ(board->find("a"), "first\nline");
  }
}

}  // namespace
}  // namespace sluice::engine::test
