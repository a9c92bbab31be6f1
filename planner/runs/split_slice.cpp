#include "planner/runs/split_slice.hpp"

#include "planner/runs/values.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::planner {

double parse_percent(const std::string& value, const std::string& path) {
  const double percent = parse_number(value.substr(0, value.size() - 1), path);
  if (percent > 0 && percent <= 100) return percent;
  throw BadRequest(path + ": \"" + value + "\" must be above 0% and at most 100%");
}

SplitSlice parse_split(const std::string& value, const std::string& path) {
  const std::size_t bracket = value.find('[');
  if (bracket == std::string::npos) return {.name = value};
  const std::size_t colon = value.find(':', bracket);
  const std::string from =
      colon == std::string::npos ? "" : value.substr(bracket + 1, colon - bracket - 1);
  const bool first_rows = bracket > 0 && colon != std::string::npos && value.ends_with(']') &&
                          (from.empty() || from == "0" || from == "0%");
  const std::string to = first_rows ? value.substr(colon + 1, value.size() - colon - 2) : "";
  if (!first_rows || to.find_first_of("-[]+:") != std::string::npos) {
    throw BadRequest(path + ": \"" + value +
                     "\" is not done here: the first rows of a split are, such as train[:20%] or "
                     "train[:1000]: write other parts into files of their own");
  }
  SplitSlice slice{.name = value.substr(0, bracket)};
  if (to.ends_with('%')) {
    slice.percent = parse_percent(to, path);
  } else if (!to.empty()) {
    slice.rows = parse_positive(to, path);
  }
  return slice;
}

}  // namespace sluice::planner
