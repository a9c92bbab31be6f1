// Prices that the user states, with their dates: Sluice never guesses one.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "planner/catalogue/composed_machine.hpp"

namespace sluice::planner {

/// US dollars. `date` is when the price was read, as the file writes it.
struct Price {
  std::optional<double> buy_usd;
  std::optional<double> rent_usd_per_hour;
  std::string date;
  std::string source;
};

/// YAML (and so JSON); `parts` may be absent:
///   prices:                       # by machine name, also "rtx-4090 + 4x64 GiB DDR5-5600"
///     h200: {buy_usd: 32000, rent_usd_per_hour: 3.5, date: 2026-01-31, source: shop.example}
///     8x-h100-sxm: {rent_usd_per_hour: 24, date: 2026-01-31}
///   parts:                        # a CPU with board, case and power supply; one module; one drive
///     gpu rtx-4090: {buy_usd: 1599, date: 2022-10-12}
///     "32 GiB DDR5-5600": {buy_usd: 110, date: 2026-01-31}
struct PriceList {
  std::map<std::string, Price> machines;
  std::map<std::string, Price> parts;

  /// Of a machine: its own entry; without a price to buy, the sum of its parts where the list has
  /// every one of them (dated by the oldest). Absent fields where nothing is known.
  [[nodiscard]] Price of(const std::string& machine) const;
  /// What `count` of a part cost to buy.
  [[nodiscard]] std::optional<double> buy(const std::string& part, std::int64_t count = 1) const;
  /// The sum of the parts of `to` that are not those of `from`; none where one has no price. Memory
  /// of which `to` only has more counts by the modules added.
  [[nodiscard]] std::optional<double> change(const Composition& from, const Composition& to) const;
};

/// Throws BadRequest naming the file and the field: unknown keys, machines and parts that
/// are not of the catalogue (profile files end in .json), no date, a price that is not positive.
[[nodiscard]] PriceList read_prices(const std::filesystem::path& file);

}  // namespace sluice::planner
