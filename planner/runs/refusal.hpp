// Faults of a run, collected so that one attempt names all of it.
#pragma once

#include <string>
#include <vector>

namespace sluice::planner {

/// A key of a run that is refused.
struct Refusal {
  std::string path;     ///< The key as it was written; empty where it is none.
  std::string message;  ///< One line: where the key stands, what is wrong and what to write.
};

/// Throws the refusals: BadRequest for one, BadRequests for several. Does nothing without any.
void throw_if_any(const std::vector<Refusal>& refusals);

}  // namespace sluice::planner
