// Ranks that come to one place: each finds the others, and all hear of one that is gone.
#include "engine/launch/gathering.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <future>
#include <optional>
#include <thread>

#include "engine/launch/board_words.hpp"
#include "engine/launch/contact.hpp"
#include "engine/launch/remote_board.hpp"
#include "engine/launch/served_board.hpp"
#include "engine/ranks/posted_failure.hpp"
#include "sim/error.hpp"
#include "tests/engine/scratch_folder.hpp"

namespace sluice::engine::test {
namespace {

using std::chrono::milliseconds;

std::unique_ptr<Gathering> come(int rank, int size, const MeetingPlace& place,
                                const std::string& host = "a", int patience_s = 20) {
  return std::make_unique<Gathering>(
      Launch{.by = Launcher::variables, .world = {rank, size}, .place = place, .host = host},
      GatheringSettings{.patience = std::chrono::seconds(patience_s)});
}

/// A rank's connection to `board`, let in.
std::optional<TcpStream> let_in(const ServedBoard& board, int rank) {
  auto stream = TcpStream::connect("127.0.0.1", board.port(), milliseconds(1000));
  std::string answer;
  if (!stream->send_text(hello_text({"t", rank, 3, "b"}))) return std::nullopt;
  if (stream->receive_text(answer) != Received::all) return std::nullopt;
  return answer == "welcome a" ? std::move(stream) : std::nullopt;
}

BoardSettings board_settings(milliseconds silence = milliseconds(5000)) {
  return {.size = 3, .host = "a", .token = "t", .silence = silence};
}

std::string failure_on(const Board& board) {
  for (int i = 0; i < 500; ++i) {
    if (const auto failure = posted_failure(board)) return failure->what();
    std::this_thread::sleep_for(milliseconds(10));
  }
  return "none";
}

TEST(Gathering, KnowsHostsAndPlacesOnThem) {
  const ScratchFolder folder;
  const SharedFolder place{folder.path() / "meet"};
  std::vector<std::future<std::unique_ptr<Gathering>>> coming;
  for (const int rank : {2, 1, 0}) {
    coming.push_back(std::async(std::launch::async,
                                [=] { return come(rank, 3, place, rank == 1 ? "a" : "b"); }));
  }
  std::vector<std::unique_ptr<Gathering>> ranks;
  for (auto& each : coming) ranks.push_back(each.get());
  for (const auto& each : ranks) {
    EXPECT_EQ(each->hosts(), (std::vector<std::string>{"b", "a", "b"}));
    EXPECT_EQ(each->host_count(), 2);
    EXPECT_FALSE(each->address().empty());
  }
  EXPECT_EQ(ranks[0]->local_rank(), 1);
  EXPECT_EQ(ranks[0]->local_size(), 2);
  EXPECT_EQ(ranks[1]->local_rank(), 0);
  EXPECT_TRUE(ranks[0]->board().post("key", "text\nof lines"));
  EXPECT_EQ(ranks[1]->board().find("key"), "text\nof lines");
  EXPECT_FALSE(ranks[2]->board().post("key", "other"));
  EXPECT_EQ(ranks[2]->board().find("nothing"), std::nullopt);
  // The first rank leaves last.
  ranks[0].reset();
  ranks[1].reset();
  ranks[2].reset();
  EXPECT_FALSE(std::filesystem::exists(place.path));
}

TEST(Gathering, PassesByTheContactOfAnEarlierStart) {
  const ScratchFolder folder;
  const auto place = contact_place(SharedFolder{folder.path()}, milliseconds(0));
  place->leave({"old", 1, {"127.0.0.1"}});
  auto second =
      std::async(std::launch::async, [&] { return come(1, 2, SharedFolder{folder.path()}); });
  std::this_thread::sleep_for(milliseconds(50));
  const auto first = come(0, 2, SharedFolder{folder.path()});
  EXPECT_EQ(second.get()->hosts().size(), 2U);
}

TEST(Gathering, NamesARankThatDoesNotCome) {
  const ScratchFolder folder;
  try {
    (void)come(0, 2, SharedFolder{folder.path()}, "a", 0);
    FAIL();
  } catch (const RankFailure& failure) {
    EXPECT_EQ(failure.rank(), 1);
  }
}

TEST(ServedBoard, NamesARankThatEndsWithoutAWord) {
  ServedBoard board(0, board_settings());
  {
    const auto stream = let_in(board, 2);
    ASSERT_TRUE(stream);
    EXPECT_FALSE(let_in(board, 2)) << "another process came as this rank";
  }
  EXPECT_EQ(failure_on(board),
            "rank 2 on b ended and said nothing: see what its process and the system wrote (was it "
            "killed, or is memory short?)");
}

TEST(ServedBoard, NamesARankThatFallsSilent) {
  ServedBoard board(0, board_settings(milliseconds(100)));
  const auto stream = let_in(board, 1);
  ASSERT_TRUE(stream);
  EXPECT_EQ(failure_on(board),
            "rank 1 on b did not answer for 0.1 s: see whether its process hangs or never started, "
            "and whether the network reaches its host");
}

TEST(ServedBoard, LetsRanksLeave) {
  ServedBoard board(0, board_settings());
  { const RemoteBoard remote(std::move(let_in(board, 1).value()), "a", milliseconds(5000)); }
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_FALSE(posted_failure(board));
}

TEST(RemoteBoard, HoldsTheFirstRanksEndOnceItIsGone) {
  std::unique_ptr<RemoteBoard> remote;
  {
    const TcpStream listener = [] {
      TcpStream socket(::socket(AF_INET, SOCK_STREAM, 0));
      ::listen(socket.socket(), 1);
      return socket;
    }();
    sockaddr_in address{};
    socklen_t size = sizeof address;
    getsockname(listener.socket(), reinterpret_cast<sockaddr*>(&address), &size);
    auto stream = TcpStream::connect("127.0.0.1", ntohs(address.sin_port), milliseconds(1000));
    ASSERT_TRUE(stream);
    remote = std::make_unique<RemoteBoard>(std::move(*stream), "a", milliseconds(5000));
  }
  EXPECT_THROW((void)remote->find("key"), RankFailure);
  EXPECT_EQ(failure_on(*remote).find("rank 0 on a ended"), 0U);
  EXPECT_FALSE(remote->post(kFailureKey, "1 later"));
}

}  // namespace
}  // namespace sluice::engine::test
