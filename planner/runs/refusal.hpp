// Faults of a run, collected so that one attempt names all of it.
#pragma once

#include <string>
#include <vector>

namespace sluice::planner {

/// One reason why a run is refused: the key at fault, where there is one, and what to write
/// instead.
struct Refusal {
  std::string path;  ///< The key at fault, as the user wrote it; empty where it is no single key.
  std::string message;  ///< One line: where the key stands, what is wrong and what to write.
};

/// Throws BadRequest for one refusal and BadRequests for several; does nothing where there is none.
void throw_if_any(const std::vector<Refusal>& refusals);

}  // namespace sluice::planner
