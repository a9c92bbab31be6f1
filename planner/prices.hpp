// Prices that the user states, with their dates: Sluice never guesses one.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace sluice::planner {

/// US dollars. `date` is when the price was read, as the file writes it.
struct Price {
  std::optional<double> buy_usd;
  std::optional<double> rent_usd_per_hour;
  std::string date;
  std::string source;
};

/// By machine name. YAML (and so JSON):
///   prices:
///     h200: {buy_usd: 32000, rent_usd_per_hour: 3.5, date: 2026-01-31, source: shop.example}
/// Throws BadRequest naming the file and the field: unknown keys, no date, a price that is not
/// positive.
[[nodiscard]] std::map<std::string, Price> read_prices(const std::filesystem::path& file);

}  // namespace sluice::planner
