#include "engine/launch/served_board.hpp"

#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <list>
#include <mutex>
#include <set>
#include <thread>

#include "engine/launch/board_words.hpp"
#include "engine/launch/tcp_listener.hpp"
#include "engine/ranks/posted_failure.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

void leave_all_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

TcpListener listening_at(int port) {
  if (auto listener = TcpListener::at(port)) return *std::move(listener);
  throw EnvironmentError("launch: rank 0 cannot listen at port " + std::to_string(port) + ": " +
                         std::strerror(errno) +
                         ": set SLUICE_ADDRESS to HOST:PORT with a free port");
}

}  // namespace

struct ServedBoard::Shared {
  Shared(int at, const BoardSettings& given)
      : settings(given), listener(listening_at(at)), port(listener.port()) {
    board.post(host_key(0), given.host);
  }

  /// Accepts connections until the listener is shut.
  void accept_all() {
    for (;;) {
      auto stream = listener.accept();
      const std::lock_guard lock(mutex);
      if (ends) return;
      if (!stream) continue;
      streams.push_back(*std::move(stream));
      threads.emplace_back([this, &stream = streams.back()] {
        pthread_setname_np(pthread_self(), "board");
        leave_all_signals();
        serve(stream);
        stream.shut();
      });
    }
  }

  void serve(const TcpStream& stream) {
    stream.wait_at_most(settings.silence);
    std::string text;
    if (stream.receive_text(text) != Received::all) return;
    const auto hello = read_hello(text);
    if (!hello || hello->token != settings.token) return;
    const std::string refused = refusal_of(*hello);
    if (!refused.empty()) {
      (void)stream.send_text(refused);
      return;
    }
    if (hello->host != settings.host) {
      const std::lock_guard lock(mutex);
      reached = stream.own_address();
    }
    board.post(host_key(hello->rank), hello->host);
    (void)stream.send_text(kWelcome + settings.host);
    const Received end = answer_all(stream);
    if (end == Received::silent) {
      post_failure(board, rank_silent(hello->rank, settings.silence, host_of(board, hello->rank)));
    } else if (end == Received::ended) {
      post_failure(board, rank_ended(hello->rank, host_of(board, hello->rank)));
    }
    const std::lock_guard lock(mutex);
    here.erase(hello->rank);
    left.notify_all();
  }

  /// Why the rank is not let in; empty if it is.
  std::string refusal_of(const Hello& hello) {
    const std::lock_guard lock(mutex);
    if (hello.size != settings.size) {
      return "launch: rank " + std::to_string(hello.rank) + " was told of " +
             std::to_string(hello.size) + " ranks and rank 0 of " + std::to_string(settings.size) +
             ": start all with one number";
    }
    if (hello.rank < 1 || hello.rank >= settings.size || !came.insert(hello.rank).second) {
      return kTaken;
    }
    here.insert(hello.rank);
    return "";
  }

  /// Answers one rank until it leaves (all), its connection ends, or it is silent.
  Received answer_all(const TcpStream& stream) {
    std::string text;
    for (;;) {
      const Received came_in = stream.receive_text(text);
      if (came_in != Received::all) return came_in;
      if (text == kLeaves) return Received::all;
      if (text == kAlive) continue;
      if (!stream.send_text(answer_to(text, board))) return Received::ended;
    }
  }

  BoardSettings settings;
  MemoryBoard board;
  TcpListener listener;
  int port;
  std::mutex mutex;  ///< Guards everything below.
  std::condition_variable left;
  std::set<int> came, here;  ///< Ranks that ever came, and those that have not left.
  std::string reached;
  bool ends = false;
  std::list<TcpStream> streams;
  std::list<std::thread> threads;
  std::thread accepting;
};

ServedBoard::ServedBoard(int port, const BoardSettings& settings)
    : shared_(std::make_unique<Shared>(port, settings)) {
  shared_->accepting = std::thread([shared = shared_.get()] {
    pthread_setname_np(pthread_self(), "board");
    leave_all_signals();
    shared->accept_all();
  });
}

ServedBoard::~ServedBoard() {
  constexpr std::chrono::seconds kLeaveWithin{5};
  {
    std::unique_lock lock(shared_->mutex);
    shared_->left.wait_for(lock, kLeaveWithin, [this] { return shared_->here.empty(); });
    shared_->ends = true;
    for (const TcpStream& stream : shared_->streams) stream.shut();
  }
  shared_->listener.shut();
  shared_->accepting.join();
  for (std::thread& thread : shared_->threads) thread.join();
}

bool ServedBoard::post(const std::string& key, const std::string& text) {
  return shared_->board.post(key, text);
}

std::optional<std::string> ServedBoard::find(const std::string& key) const {
  return shared_->board.find(key);
}

std::string ServedBoard::place() const {
  return "the first rank's port " + std::to_string(shared_->port);
}

int ServedBoard::port() const { return shared_->port; }

std::string ServedBoard::reached_at() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->reached;
}

}  // namespace sluice::engine
