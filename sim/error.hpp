// The one family of exceptions. Each carries the process exit code that CONTRACTS
// (docs/contracts.md) gives it.
#pragma once

#include <stdexcept>
#include <string>

namespace sluice {

enum class ExitCode : int {
  done = 0,
  /// The request is wrong; the message names the field, file or task, and the fix.
  bad_request = 2,
  does_not_fit = 3,
  environment = 4,    ///< The environment failed: a full disk, no GPU, a missing permission.
  not_converged = 5,  ///< Autotune ended before its prediction held.
  interrupted = 75,
};

class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

/// The request is wrong: `message` names the field, file or task and the fix, in one line.
class BadRequest : public Error {
 public:
  explicit BadRequest(const std::string& message) : Error(ExitCode::bad_request, message) {}
};

/// The environment failed: `message` says what failed, where, and how much is missing.
class EnvironmentError : public Error {
 public:
  explicit EnvironmentError(const std::string& message) : Error(ExitCode::environment, message) {}
};

/// Throws std::logic_error where a contract is broken, which is a bug in Sluice, never in the
/// input; `what` names the contract.
inline void check(bool holds, const char* what) {
  if (!holds) throw std::logic_error(std::string("contract broken: ") + what);
}

}  // namespace sluice
