#include "cli/serving/request_guard.hpp"

#include <algorithm>
#include <cctype>

namespace sluice::cli {
namespace {

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace

RequestGuard::RequestGuard(const std::string& address, int port, std::vector<std::string> names) {
  names.insert(names.end(), {"localhost", "127.0.0.1", "[::1]"});
  names.push_back(address.find(':') == std::string::npos ? address : "[" + address + "]");
  for (const std::string& name : names) {
    hosts_.push_back(lower(name) + ":" + std::to_string(port));
    if (port == 80) hosts_.push_back(lower(name));
  }
}

std::optional<Refusal> RequestGuard::refusal(const RequestOrigin& origin) const {
  if (origin.method != "GET" && origin.method != "HEAD") {
    return Refusal{405, "this server only answers GET and HEAD: it changes nothing"};
  }
  if (std::ranges::find(hosts_, lower(origin.host)) == hosts_.end()) {
    return Refusal{
        403, "the Host header names another server; open the address that sluice serve printed"};
  }
  if (!origin.fetch_site.empty() && origin.fetch_site != "same-origin" &&
      origin.fetch_site != "none") {
    return Refusal{403, "the request comes from another site's page"};
  }
  return std::nullopt;
}

}  // namespace sluice::cli
