#include "engine/ranks/own_devices.hpp"

#include <map>

namespace sluice::engine {

std::optional<std::string> why_devices_are_shared(const std::vector<std::string>& devices) {
  std::map<std::string, std::size_t> first;
  for (std::size_t rank = 0; rank < devices.size(); ++rank) {
    const auto [found, is_new] = first.try_emplace(devices[rank], rank);
    if (is_new) continue;
    return "ranks " + std::to_string(found->second) + " and " + std::to_string(rank) +
           " have one GPU (" + devices[rank] +
           "): start a rank a GPU, and where one computer stands for several hosts, give each "
           "host's ranks their own by CUDA_VISIBLE_DEVICES";
  }
  return std::nullopt;
}

}  // namespace sluice::engine
