#include "engine/launch/remote_board.hpp"

#include <pthread.h>

#include <csignal>
#include <utility>

#include "engine/launch/board_words.hpp"
#include "engine/ranks/posted_failure.hpp"

namespace sluice::engine {

RemoteBoard::RemoteBoard(TcpStream stream, std::string first_host,
                         std::chrono::milliseconds silence)
    : stream_(std::move(stream)), first_host_(std::move(first_host)), silence_(silence) {
  stream_.wait_at_most(silence);
  alive_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "alive");
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    constexpr std::chrono::seconds kEvery{1};
    std::unique_lock lock(mutex_);
    while (!woken_.wait_for(lock, kEvery, [this] { return ends_; })) {
      if (!lost_ && !stream_.send_text(kAlive)) lose(Received::ended);
    }
  });
}

RemoteBoard::~RemoteBoard() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    if (!lost_) (void)stream_.send_text(kLeaves);
  }
  woken_.notify_all();
  alive_.join();
}

bool RemoteBoard::post(const std::string& key, const std::string& text) {
  const std::lock_guard lock(mutex_);
  const auto answer = ask(post_request(key, text));
  if (answer) return was_posted(*answer);
  const auto failure = posted_failure(last_);
  if (key == kFailureKey || !failure) return false;
  throw RankFailure(*failure);
}

std::optional<std::string> RemoteBoard::find(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  if (const auto answer = ask(find_request(key))) return found_in(*answer);
  if (key == kFailureKey) return last_.find(key);
  throw RankFailure(posted_failure(last_).value());
}

std::optional<std::string> RemoteBoard::ask(const std::string& request) const {
  if (lost_) return std::nullopt;
  std::string answer;
  const Received how = stream_.send_text(request) ? stream_.receive_text(answer) : Received::ended;
  if (how == Received::all) return answer;
  lose(how);
  return std::nullopt;
}

void RemoteBoard::lose(Received how) const {
  lost_ = true;
  post_failure(last_, how == Received::silent ? rank_silent(0, silence_, first_host_)
                                              : rank_ended(0, first_host_));
}

}  // namespace sluice::engine
