// Stopping a long search from outside.
#pragma once

#include <stop_token>

#include "sim/error.hpp"

namespace sluice::planner {

/// Thrown by a search after a stop was requested of its stop token.
class Interrupted : public Error {
 public:
  Interrupted() : Error(ExitCode::interrupted, "interrupted") {}
};

/// Throws Interrupted if stop was requested of `stop`. Searches call it before each plan that they
/// simulate.
inline void throw_if_stopped(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Interrupted();
}

}  // namespace sluice::planner
