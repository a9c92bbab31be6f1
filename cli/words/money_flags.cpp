#include "cli/words/money_flags.hpp"

#include "planner/requests/run_prediction.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::cli {

std::optional<double> positive_number(const planner::RunArguments& request, const char* flag) {
  const auto text = request.value(flag);
  if (!text) return std::nullopt;
  const double value = planner::parse_number(*text, flag);
  if (value <= 0) throw BadRequest(std::string(flag) + ": must be above 0");
  return value;
}

std::optional<double> token_count(const planner::RunArguments& request) {
  const auto text = request.value("--tokens");
  if (!text) return std::nullopt;
  return planner::parse_tokens(*text, "--tokens");
}

}  // namespace sluice::cli
