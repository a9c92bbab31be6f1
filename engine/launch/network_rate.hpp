// How fast the hosts of a start reach each other, found before anything is planned.
#pragma once

#include <chrono>
#include <optional>

#include "engine/launch/gathering.hpp"

namespace sluice::engine {

/// Bytes/s that each host sends, and receives, while all do.
struct NetworkRate {
  /// Where the rate is known from.
  enum class From {
    cards,        ///< The hosts' InfiniBand cards, as the system states them.
    measurement,  ///< Bytes that ranks sent to each other for a moment.
    interface,    ///< The interface that leads to the others, as the system states it.
    nothing,      ///< No host knows anything: 10 Gbit/s.
  };
  double bytes_per_second = 0;
  From from = From::nothing;
};

struct RateSettings {
  /// Whether ranks move bytes by InfiniBand cards where all hosts have some, as NCCL does.
  bool uses_cards = false;
  std::chrono::milliseconds measured_for{400};
  /// Time before it in which connections come up to speed.
  std::chrono::milliseconds warmed_for{200};
};

/// The rate between the hosts of `ranks`, the same on all of them. All ranks call it at once. Each
/// sends to the rank with its place on the next host for a moment; a host's rate is the sum over
/// its ranks, the answer that of the slowest host, to two digits. Each host has as many ranks.
/// Throws RankFailure if a rank is lost meanwhile.
[[nodiscard]] NetworkRate network_rate(const Gathering& ranks, const RateSettings& settings);

/// A rate as board and ranks tell it each other, and back; none for another text.
[[nodiscard]] std::string to_text(const NetworkRate& rate);
[[nodiscard]] std::optional<NetworkRate> network_rate_of(const std::string& text);

}  // namespace sluice::engine
