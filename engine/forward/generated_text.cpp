#include "engine/forward/generated_text.hpp"

#include <algorithm>
#include <string_view>

namespace sluice::engine {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

}  // namespace

GeneratedText::GeneratedText(Decode decode, std::vector<std::string> stops)
    : decode_(std::move(decode)), stops_(std::move(stops)) {}

std::string GeneratedText::add(std::int32_t token) {
  tokens_.push_back(token);
  const std::string all = decode_(tokens_);
  for (const std::string& stop : stops_) {
    const std::size_t at = all.find(stop);
    if (at == std::string::npos) continue;
    stopped_ = true;
  }
  if (stopped_) return finish();
  std::size_t end = all.size();
  if (all.ends_with(kReplacement)) end -= kReplacement.size();
  // The end of the text may be the beginning of a stop text.
  for (const std::string& stop : stops_) {
    for (std::size_t part = std::min(stop.size() - 1, all.size()); part > 0; --part) {
      if (!all.ends_with(stop.substr(0, part))) continue;
      end = std::min(end, all.size() - part);
      break;
    }
  }
  return give_out(all, end);
}

std::string GeneratedText::finish() {
  const std::string all = decode_(tokens_);
  std::size_t end = all.size();
  for (const std::string& stop : stops_) end = std::min(end, all.find(stop));
  return give_out(all, end);
}

std::string GeneratedText::give_out(const std::string& all, std::size_t end) {
  if (end <= text_.size()) return {};
  std::string more = all.substr(text_.size(), end - text_.size());
  text_ += more;
  return more;
}

}  // namespace sluice::engine
