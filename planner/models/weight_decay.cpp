#include "planner/models/weight_decay.hpp"

#include <algorithm>
#include <cctype>
#include <string>

namespace sluice::planner {

bool decays_by_name(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const char* word : {"bias", "layernorm", "rmsnorm"}) {
    if (lower.find(word) != std::string::npos) return false;
  }
  for (std::size_t begin = 0; begin < lower.size();) {
    const std::size_t end = std::min(lower.find('.', begin), lower.size());
    const std::string_view part = std::string_view(lower).substr(begin, end - begin);
    if (part == "norm" || part.ends_with("_norm")) return false;
    begin = end + 1;
  }
  return true;
}

}  // namespace sluice::planner
