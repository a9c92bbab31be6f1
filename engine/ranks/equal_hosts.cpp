#include "engine/ranks/equal_hosts.hpp"

#include <algorithm>
#include <set>

namespace sluice::engine {

std::optional<EqualHosts> equal_hosts(const std::vector<std::string>& names) {
  const std::set<std::string> hosts(names.begin(), names.end());
  if (hosts.size() < 2 || hosts.size() == names.size()) return std::nullopt;
  if (names.size() % hosts.size() != 0) return std::nullopt;
  const std::size_t local = names.size() / hosts.size();
  for (std::size_t rank = 0; rank < names.size(); ++rank) {
    if (names[rank] != names[rank / local * local]) return std::nullopt;
  }
  return EqualHosts{static_cast<int>(local)};
}

}  // namespace sluice::engine
