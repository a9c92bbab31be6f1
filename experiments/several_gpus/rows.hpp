// Rows of the table: printed as they come and appended to the file that $ROWS names.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "board.hpp"

namespace sluice::several_gpus {

/// One measurement. The loads' rates are of all GPUs together; `seconds` is the slowest rank's time
/// of a call.
struct Row {
  std::string part;
  const Rank* rank = nullptr;
  std::string operation{}, way{};
  std::size_t bytes = 0;
  std::string beside{};
  std::optional<double> seconds{};
  std::optional<double> gpu_bytes{};  ///< Bytes that one GPU sends (or its memory moves) in a call.
  Rates rates{};
  std::string note{};
};

/// Names of loads, joined by `+`; `nothing` for none.
[[nodiscard]] std::string names_of(unsigned loads);
/// Prints the row when its rank is the first.
void print(const Row& row);

}  // namespace sluice::several_gpus
