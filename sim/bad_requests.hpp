// Several refusals of one request as one exception.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/error.hpp"

namespace sluice {

/// Several things of one request are wrong, named together so that they can be mended at once.
/// what() is one line that joins their messages.
class BadRequests : public BadRequest {
 public:
  explicit BadRequests(std::vector<std::string> messages)
      : BadRequest(joined(messages)), messages_(std::move(messages)) {}
  [[nodiscard]] const std::vector<std::string>& messages() const { return messages_; }

 private:
  [[nodiscard]] static std::string joined(const std::vector<std::string>& messages) {
    std::string line;
    for (const std::string& each : messages) line.append(line.empty() ? "" : "; ").append(each);
    return line;
  }

  std::vector<std::string> messages_;
};

}  // namespace sluice
