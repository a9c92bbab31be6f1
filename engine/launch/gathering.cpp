#include "engine/launch/gathering.hpp"

#include <algorithm>
#include <random>
#include <set>
#include <thread>

#include "engine/launch/board_words.hpp"
#include "engine/launch/contact.hpp"
#include "engine/launch/remote_board.hpp"
#include "engine/launch/served_board.hpp"
#include "engine/ranks/posted_failure.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kBetweenLooks{20};
/// Key under which the first rank says by which address other hosts reach its host.
constexpr char kFirstAddress[] = "first-address";

std::string new_token() {
  std::random_device random;
  return std::to_string(random()) + "-" + std::to_string(random());
}

/// How long a rank may say nothing: no longer than ranks wait for each other, but for some of the
/// words that each says every second.
std::chrono::milliseconds silence_of(const GatheringSettings& settings) {
  constexpr std::chrono::milliseconds kLeast = std::chrono::seconds(3);
  return std::max(kLeast, std::min<std::chrono::milliseconds>(settings.patience, kUsualSilence));
}

std::unique_ptr<ServedBoard> served(ContactPlace& place, const Launch& launch,
                                    const GatheringSettings& settings) {
  const bool fixed = place.port() != 0;
  const BoardSettings board{.size = launch.world.size,
                            .host = launch.host,
                            .token = fixed ? "" : new_token(),
                            .silence = silence_of(settings)};
  auto made = std::make_unique<ServedBoard>(place.port(), board);
  place.leave({board.token, made->port(), own_addresses(settings.interface)});
  return made;
}

/// Comes to the contact's board as a rank; null if nobody there knows this start. Sets `taken` if
/// another process came as this rank.
std::unique_ptr<RemoteBoard> board_at(const Contact& contact, const Launch& launch,
                                      std::chrono::milliseconds silence, bool& taken) {
  constexpr std::chrono::seconds kReachWithin{3};
  for (const std::string& host : contact.hosts) {
    auto stream = TcpStream::connect(host, contact.port, kReachWithin);
    if (!stream) continue;
    const Hello hello{contact.token, launch.world.rank, launch.world.size, launch.host};
    std::string answer;
    const bool answered =
        stream->send_text(hello_text(hello)) && stream->receive_text(answer) == Received::all;
    if (!answered) continue;
    const std::string_view welcome = kWelcome;
    if (answer.starts_with(welcome)) {
      return std::make_unique<RemoteBoard>(std::move(*stream), answer.substr(welcome.size()),
                                           silence);
    }
    if (answer != kTaken) throw BadRequest(answer);
    taken = true;
  }
  return nullptr;
}

std::unique_ptr<RemoteBoard> joined(ContactPlace& place, const Launch& launch,
                                    const GatheringSettings& settings) {
  constexpr std::chrono::seconds kTakenFor{10};
  const auto begin = Clock::now();
  std::optional<Clock::time_point> taken_since;
  for (;;) {
    bool taken = false;
    const auto contact = place.find();
    if (contact) {
      if (auto board = board_at(*contact, launch, silence_of(settings), taken)) return board;
    }
    const auto now = Clock::now();
    taken_since = taken ? taken_since.value_or(now) : std::optional<Clock::time_point>();
    // The board of an earlier start may live a little longer than its other ranks.
    if (taken && now - *taken_since > kTakenFor) {
      throw BadRequest("launch: another process came to " + place_text(launch.place) + " as rank " +
                       std::to_string(launch.world.rank) +
                       ": give each rank a number of its own, and each run a place of its own");
    }
    if (now - begin > settings.patience) {
      throw EnvironmentError("launch: rank 0 is not found by " + place_text(launch.place) +
                             ": see whether it started, and whether the network lets rank " +
                             std::to_string(launch.world.rank) + " reach it");
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

/// The text under `key` once it is there; `rank` fails if that takes longer than `patience`.
std::string awaited(Board& board, const std::string& key, int rank,
                    std::chrono::milliseconds patience) {
  const auto end = Clock::now() + patience;
  for (;;) {
    if (const auto failure = posted_failure(board)) throw RankFailure(*failure);
    if (auto text = board.find(key)) return *text;
    if (Clock::now() > end) throw post_failure(board, rank_silent(rank, patience));
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

}  // namespace

Gathering::Gathering(const Launch& launch, const GatheringSettings& settings)
    : world_(launch.world) {
  const auto place = contact_place(launch.place, settings.patience);
  ServedBoard* first = nullptr;
  RemoteBoard* remote = nullptr;
  if (world_.rank == 0) {
    auto board = served(*place, launch, settings);
    first = board.get();
    board_ = std::move(board);
  } else {
    auto board = joined(*place, launch, settings);
    remote = board.get();
    board_ = std::move(board);
  }
  for (int rank = 0; rank < world_.size; ++rank) {
    hosts_.push_back(awaited(*board_, host_key(rank), rank, settings.patience));
  }
  if (first != nullptr) board_->post(kFirstAddress, first->reached_at());
  const auto chosen =
      settings.interface ? own_addresses(settings.interface) : std::vector<std::string>();
  if (settings.interface && chosen.empty()) {
    throw BadRequest("launch: SLUICE_INTERFACE is " + *settings.interface +
                     ", and this host has no such interface that is up: name another");
  }
  if (host_count() == 1) {
    address_ = "127.0.0.1";
  } else if (!chosen.empty()) {
    address_ = chosen.front();
  } else if (launch.host == hosts_.front()) {
    address_ = awaited(*board_, kFirstAddress, 0, settings.patience);
  } else {
    address_ = remote->own_address();
  }
}

int Gathering::host_count() const {
  return static_cast<int>(std::set<std::string>(hosts_.begin(), hosts_.end()).size());
}

int Gathering::local_rank() const {
  const auto own = hosts_.begin() + world_.rank;
  return static_cast<int>(std::count(hosts_.begin(), own, *own));
}

int Gathering::local_size() const {
  return static_cast<int>(
      std::ranges::count(hosts_, hosts_[static_cast<std::size_t>(world_.rank)]));
}

}  // namespace sluice::engine
