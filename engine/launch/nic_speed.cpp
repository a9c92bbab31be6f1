#include "engine/launch/nic_speed.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
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

}  // namespace sluice::engine
