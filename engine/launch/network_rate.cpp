#include "engine/launch/network_rate.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/launch/nic_speed.hpp"
#include "engine/launch/tcp_listener.hpp"
#include "engine/ranks/posted_failure.hpp"

namespace sluice::engine {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Keys of the board: where a rank listens, that it is connected, that all are, what it found, and
/// what all found.
constexpr char kListens[] = "network/listens/", kReady[] = "network/ready/", kGo[] = "network/go",
               kFound[] = "network/found/", kRate[] = "network/rate";
constexpr milliseconds kReachWithin{5000};
constexpr double kBitsOfAByte = 8;
/// Part of the bits of a 400 Gbit/s card that NCCL's tests find as payload: 48 GB/s.
constexpr double kPayload = 0.96;
constexpr double kUsualBits = 10e9;

std::string awaited(const Board& board, const std::string& key) {
  constexpr milliseconds kBetweenLooks{5};
  for (;;) {
    if (const auto failure = posted_failure(board)) throw RankFailure(*failure);
    if (auto text = board.find(key)) return *text;
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

std::string key_of(const char* of, int rank) { return of + std::to_string(rank); }

/// The ranks of each host in order, hosts in the order of their first ranks.
std::vector<std::vector<int>> ranks_of_hosts(const Gathering& ranks) {
  std::vector<std::vector<int>> all;
  std::map<std::string, std::size_t> numbers;
  for (int rank = 0; rank < ranks.world().size; ++rank) {
    const auto& host = ranks.hosts()[static_cast<std::size_t>(rank)];
    const auto [number, is_new] = numbers.try_emplace(host, all.size());
    if (is_new) all.emplace_back();
    all[number->second].push_back(rank);
  }
  return all;
}

/// The rank with this rank's place on the next host.
int next_rank(const Gathering& ranks) {
  const auto hosts = ranks_of_hosts(ranks);
  const auto place = static_cast<std::size_t>(ranks.local_rank());
  std::size_t own = 0;
  while (hosts[own][place] != ranks.world().rank) ++own;
  return hosts[(own + 1) % hosts.size()][place];
}

/// The connections of a rank while the network is measured.
struct Neighbours {
  std::optional<TcpStream> next;    ///< Connection to the rank with this place on the next host.
  std::optional<TcpStream> before;  ///< Connection from that of the previous host.
};

/// A connection to where another rank says that it listens ("ADDRESS PORT TOKEN"); none if that is
/// not reached.
std::optional<TcpStream> connection_to(const std::string& listens) {
  std::istringstream words(listens);
  std::string address, token;
  int port = 0;
  words >> address >> port >> token;
  if (port == 0) return std::nullopt;
  auto stream = TcpStream::connect(address, port, kReachWithin);
  if (!stream || !stream->send_text(token)) return std::nullopt;
  return stream;
}

/// The first connection whose rank knows `token`; none if none comes.
std::optional<TcpStream> connection_of(const TcpListener& listener, const std::string& token) {
  const auto end = Clock::now() + kReachWithin;
  while (Clock::now() < end) {
    auto came = listener.accept(kReachWithin);
    if (!came) return std::nullopt;
    came->wait_at_most(kReachWithin);
    std::string word;
    if (came->receive_text(word) == Received::all && word == token) return came;
  }
  return std::nullopt;
}

Neighbours connected(const Gathering& ranks) {
  std::random_device random;
  const std::string token = std::to_string(random()) + std::to_string(random());
  const auto listener = TcpListener::at(0);
  const int port = listener ? listener->port() : 0;
  Board& board = ranks.board();
  board.post(key_of(kListens, ranks.world().rank),
             ranks.address() + ' ' + std::to_string(port) + ' ' + token);
  auto next = connection_to(awaited(board, key_of(kListens, next_rank(ranks))));
  auto before = listener ? connection_of(*listener, token) : std::nullopt;
  return {.next = std::move(next), .before = std::move(before)};
}

/// Sends until `end`, whatever becomes of it.
void send_until(const TcpStream& to, Clock::time_point end) {
  const std::vector<char> bytes(std::size_t{1} << 18U);
  while (Clock::now() < end) {
    if (::send(to.socket(), bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) {
      std::this_thread::sleep_for(milliseconds(1));
    }
  }
}

/// Bytes/s that arrive from `begin`, or what came last before it, until `end`.
double received_between(const TcpStream& from, Clock::time_point begin, Clock::time_point end) {
  std::vector<char> bytes(std::size_t{1} << 20U);
  std::int64_t count = 0;
  Clock::time_point first = begin, last = begin;
  do {
    const ssize_t came = ::recv(from.socket(), bytes.data(), bytes.size(), 0);
    last = Clock::now();
    if (came == 0) break;  // The other side is done.
    if (came < 0) continue;
    if (last < begin) {
      first = last;
    } else {
      count += came;
    }
  } while (last < end);
  const double seconds = std::chrono::duration<double>(last - first).count();
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

/// Bytes/s that this rank receives while all send; 0 where its neighbours are not reached.
double measured(const Gathering& ranks, const RateSettings& settings) {
  constexpr milliseconds kLooksEvery{20};
  const Neighbours neighbours = connected(ranks);
  const bool reached = neighbours.next && neighbours.before;
  ranks.board().post(key_of(kReady, ranks.world().rank), reached ? "yes" : "no");
  if (ranks.world().rank == 0) {
    bool all = true;
    for (int rank = 0; rank < ranks.world().size; ++rank) {
      all = awaited(ranks.board(), key_of(kReady, rank)) == "yes" && all;
    }
    ranks.board().post(kGo, all ? "yes" : "no");
  }
  if (awaited(ranks.board(), kGo) != "yes") return 0;
  neighbours.next->wait_at_most(kLooksEvery);
  neighbours.before->wait_at_most(kLooksEvery);
  const auto begin = Clock::now() + settings.warmed_for;
  const auto end = begin + settings.measured_for;
  std::thread sending([&] { send_until(*neighbours.next, end); });
  const double rate = received_between(*neighbours.before, begin, end);
  sending.join();
  return rate;
}

double two_digits(double rate) {
  const double unit = std::pow(10, std::floor(std::log10(rate)) - 1);
  return std::round(rate / unit) * unit;
}

/// What a rank says of its host: bytes/s that came to it, bits/s of the host's cards and of its
/// interface, 0 for what is not known.
std::string found_text(double came, double cards, double interface) {
  std::ostringstream text;
  text << came << ' ' << cards << ' ' << interface;
  return text.str();
}

/// The rate by what all ranks found, as the first rank sees it.
NetworkRate judged(const Gathering& ranks, const RateSettings& settings) {
  double cards = std::numeric_limits<double>::infinity(), came = cards, interface = cards;
  for (const std::vector<int>& host : ranks_of_hosts(ranks)) {
    double of_host = 0;
    for (const int rank : host) {
      std::istringstream text(awaited(ranks.board(), key_of(kFound, rank)));
      std::array<double, 3> each{};
      text >> each[0] >> each[1] >> each[2];
      of_host += each[0];
      cards = std::min(cards, each[1]);
      interface = std::min(interface, each[2]);
    }
    came = std::min(came, of_host);
  }
  using From = NetworkRate::From;
  if (settings.uses_cards && cards > 0) return {cards / kBitsOfAByte * kPayload, From::cards};
  if (came > 0) return {two_digits(came), From::measurement};
  if (interface > 0) return {interface / kBitsOfAByte, From::interface};
  return {kUsualBits / kBitsOfAByte, From::nothing};
}

}  // namespace

std::string to_text(const NetworkRate& rate) {
  std::ostringstream text;
  text.precision(std::numeric_limits<double>::max_digits10);
  text << rate.bytes_per_second << ' ' << static_cast<int>(rate.from);
  return text.str();
}

std::optional<NetworkRate> network_rate_of(const std::string& text) {
  std::istringstream words(text);
  NetworkRate rate;
  int from = 0;
  if (!(words >> rate.bytes_per_second >> from) || !(rate.bytes_per_second > 0)) {
    return std::nullopt;
  }
  if (from < 0 || from > static_cast<int>(NetworkRate::From::nothing)) return std::nullopt;
  rate.from = static_cast<NetworkRate::From>(from);
  return rate;
}

NetworkRate network_rate(const Gathering& ranks, const RateSettings& settings) {
  const double came = measured(ranks, settings);
  const double cards = infiniband_bits_per_second().value_or(0);
  const double interface = nic_bits_per_second(ranks.address()).value_or(0);
  Board& board = ranks.board();
  board.post(key_of(kFound, ranks.world().rank), found_text(came, cards, interface));
  if (ranks.world().rank == 0) board.post(kRate, to_text(judged(ranks, settings)));
  // The first rank posts nothing else under this key.
  return network_rate_of(awaited(board, kRate)).value_or(NetworkRate{});
}

}  // namespace sluice::engine
