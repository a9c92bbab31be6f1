// Prices that the user states, with their dates. Sluice never guesses a price.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "planner/catalogue/cluster.hpp"
#include "planner/catalogue/several_gpus.hpp"
#include "planner/requests/instance.hpp"

namespace sluice::planner {

/// Prices of a machine or of a part in US dollars, as the user states them; only a machine can be
/// rented. `date` is when the price to buy was read, as the file writes it, else that of the rent.
struct Price {
  std::optional<double> buy_usd;
  std::optional<double> rent_usd_per_hour;
  std::string date;
  std::string source;
  std::string rent_date = {};  ///< When the rent was read; empty where there is none.
};

/// Prices of a YAML (or JSON) file, of whose sections one is enough:
///   prices:                       # by machine name, also "rtx-4090 + 4x64 GiB DDR5-5600"
///     h200: {buy_usd: 32000, rent_usd_per_hour: 3.5, date: 2026-01-31, source: shop.example}
///     8x-h100-sxm: {rent_usd_per_hour: 24, date: 2026-01-31}
///   parts:                        # a CPU with board, case and power supply; one module; one drive
///     gpu rtx-4090: {buy_usd: 1599, date: 2022-10-12}
///     "32 GiB DDR5-5600": {buy_usd: 110, date: 2026-01-31}
///   instances:                    # by the cloud's name; all but `specification` and `nic` are
///   needed
///     aws p5.48xlarge: {gpu: h100-sxm, gpus: 8, gib: 2048, vcpus: 192, usd_per_hour: 55.04,
///                       date: 2026-11-09, address: "https://...", specification: "https://..."}
struct PriceList {
  std::map<std::string, Price> machines;
  std::map<std::string, Price> parts;
  std::map<std::string, Instance> instances = {};

  /// The price of a machine: its own entry; where that has no price to buy, the sum of its parts if
  /// the list has every one of them (dated by the oldest), with CPU and memory for each socket;
  /// else, of several GPUs on one socket, the price of the machine with one and of the further
  /// cards; of a cluster, that of its hosts without their network. Fields for which nothing is
  /// known are none.
  [[nodiscard]] Price of(const std::string& machine) const;
  /// Price in USD of `count` pieces of one part; none where it is not known.
  [[nodiscard]] std::optional<double> buy(const std::string& part, std::int64_t count = 1) const;
  /// Price in USD of the parts of `to` that are not those of `from`; none where one of them has no
  /// price. Where `to` only has more memory, the added modules count.
  [[nodiscard]] std::optional<double> change(const CountedParts& from,
                                             const CountedParts& to) const;

 private:
  [[nodiscard]] Price of_hosts(const Cluster& cluster) const;
  [[nodiscard]] Price with_further_cards(Price price, const std::string& machine,
                                         const CountedParts& parts) const;
};

/// Reads a price file. Throws BadRequest naming the file and the field for unknown keys, for
/// machines and parts that are not in the catalogue (profile files end in .json), for a missing
/// date, for an instance without the address of the page that states its rent, and for a price that
/// is not positive.
[[nodiscard]] PriceList read_prices(const std::filesystem::path& file);

}  // namespace sluice::planner
