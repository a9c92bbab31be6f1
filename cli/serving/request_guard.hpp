// Which requests the server answers at all.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sluice::cli {

/// Method and headers by which a request is let in or refused before its path is looked at.
struct RequestOrigin {
  std::string method;  ///< Such as "GET".
  std::string host;    ///< The Host header; empty where there is none.
  /// The Sec-Fetch-Site header, which browsers send and pages cannot set; empty where there is
  /// none.
  std::string fetch_site;
};

/// Why a request is refused.
struct Refusal {
  int status;  ///< HTTP status: 403 or 405.
  std::string reason;
};

/// Lets through requests that read, and that name this server by a name that no other server's page
/// can have: a page of elsewhere whose name was made to lead here (DNS rebinding) still sends its
/// own name in Host.
class RequestGuard {
 public:
  /// A guard of the server at `address` and `port`; `names` are further host names for it.
  RequestGuard(const std::string& address, int port, std::vector<std::string> names = {});

  [[nodiscard]] std::optional<Refusal> refusal(const RequestOrigin& origin) const;

 private:
  std::vector<std::string> hosts_;  ///< Accepted values of the Host header, in lower case.
};

}  // namespace sluice::cli
