#include "engine/ranks/agreement.hpp"

#include <fmt/format.h>

#include "sim/error.hpp"

namespace sluice::engine {
namespace {

std::string lines_of(const std::vector<AgreedFact>& facts) {
  std::string lines;
  for (const AgreedFact& fact : facts) lines += fact.value + '\n';
  return lines;
}

std::vector<std::string> cut_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

/// Enough of a hash to tell it from another one.
std::string start_of(const std::string& value) {
  constexpr std::size_t kShown = 16;
  return value.size() > kShown ? value.substr(0, kShown) + "..." : value;
}

}  // namespace

void require_agreement(Control& control, const std::vector<AgreedFact>& facts) {
  const std::vector<std::string> all = control.gather(lines_of(facts));
  const std::vector<std::string> first = cut_lines(all.front());
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    const std::vector<std::string> other = cut_lines(all[rank]);
    if (first.size() != facts.size() || other.size() != facts.size()) {
      throw BadRequest(
          fmt::format("rank {} runs another version of the program than rank 0: start "
                      "all ranks with the same one",
                      rank));
    }
    for (std::size_t i = 0; i < facts.size(); ++i) {
      if (other[i] == first[i]) continue;
      throw BadRequest(fmt::format("rank {} has another {} than rank 0 ({} instead of {}): {}",
                                   rank, facts[i].name, start_of(other[i]), start_of(first[i]),
                                   facts[i].remedy));
    }
  }
}

}  // namespace sluice::engine
