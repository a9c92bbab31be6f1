#include "cli/words/money_flags.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>

#include "planner/requests/run_prediction.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::cli {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// Whether `part` is three digits that continue an amount, as in "15,000".
bool is_thousands(const std::string& before, const std::string& part) {
  const bool continues = !before.empty() && is_digit(before.back());
  return continues && part.size() == 3 && std::ranges::all_of(part, is_digit);
}

double dollars_of(const std::string& text, const std::string& flag) {
  std::string number = text;
  std::erase(number, ' ');
  if (number.starts_with('$')) number.erase(0, 1);
  if (number.ends_with("USD")) number.resize(number.size() - 3);
  double times = 1;
  if (!number.empty() && (number.back() == 'k' || number.back() == 'K')) times = 1e3;
  if (!number.empty() && number.back() == 'M') times = 1e6;
  if (times > 1) number.pop_back();
  const bool is_number = !number.empty() && (is_digit(number[0]) || number[0] == '.');
  if (!is_number) {
    throw BadRequest(flag + ": \"" + text + "\" is no amount above 0; write 15000, 15,000 or 15k");
  }
  const double value = planner::parse_number(number, flag) * times;
  if (value <= 0) throw BadRequest(flag + ": must be above 0");
  return value;
}

}  // namespace

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

std::vector<double> dollar_amounts(const std::string& list, const std::string& flag) {
  std::vector<std::string> amounts;
  std::size_t start = 0;
  while (start <= list.size()) {
    const std::size_t comma = std::min(list.find(',', start), list.size());
    const std::string part = list.substr(start, comma - start);
    if (!amounts.empty() && is_thousands(amounts.back(), part)) {
      amounts.back() += part;
    } else {
      amounts.push_back(part);
    }
    start = comma + 1;
  }
  std::vector<double> values;
  values.reserve(amounts.size());
  for (const std::string& amount : amounts) values.push_back(dollars_of(amount, flag));
  return values;
}

}  // namespace sluice::cli
