#include "engine/launch/nic_speed.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "engine/launch/tcp_stream.hpp"

namespace sluice::engine {

std::optional<double> nic_bits_per_second(const std::string& address) {
  constexpr double kMegabit = 1e6;
  std::error_code ignored;
  for (const auto& each : std::filesystem::directory_iterator("/sys/class/net", ignored)) {
    const std::vector<std::string> addresses = own_addresses(each.path().filename().string());
    if (std::ranges::find(addresses, address) == addresses.end()) continue;
    double speed = 0;
    if (!(std::ifstream(each.path() / "speed") >> speed) || speed <= 0) return std::nullopt;
    return speed * kMegabit;
  }
  return std::nullopt;
}

std::optional<double> infiniband_bits_per_second(const std::filesystem::path& classes) {
  constexpr double kGigabit = 1e9;
  double all = 0;
  std::error_code ignored;
  for (const auto& card : std::filesystem::directory_iterator(classes, ignored)) {
    for (const auto& port : std::filesystem::directory_iterator(card.path() / "ports", ignored)) {
      std::string state;
      std::getline(std::ifstream(port.path() / "state"), state);
      double rate = 0;
      const bool active = state.find("ACTIVE") != std::string::npos;
      if (active && std::ifstream(port.path() / "rate") >> rate && rate > 0) all += rate * kGigabit;
    }
  }
  if (all == 0) return std::nullopt;
  return all;
}

}  // namespace sluice::engine
