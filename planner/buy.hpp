// Which machine to buy or rent for a job: rows by prediction, upgrades, and what the step depends
// on.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/predict.hpp"
#include "planner/prices.hpp"
#include "planner/run_config.hpp"

namespace sluice::planner {

enum class Payment { buy, rent };

struct BuyRequest {
  std::vector<std::string> machines;  ///< Names or files; empty: the whole catalogue.
  std::optional<double> tokens;       ///< To train on.
  std::optional<double> days;         ///< To do it in.
  std::optional<double> budget_usd;
  std::map<std::string, Price> prices;
  Payment payment = Payment::buy;
};

struct BuyRow {
  std::string machine;
  bool fits = false;
  Duration step{0}, step_low{0}, step_high{0};
  double tokens_per_s = 0;
  std::optional<double> days;   ///< For the request's tokens.
  std::optional<double> price;  ///< US dollars, to buy or an hour.
  std::string price_date;
  std::optional<double> cost;  ///< US dollars: the price, or the rent for `days`.
  std::string limit;  ///< What bounds the step; where it does not fit, the tier and what it lacks.
  std::optional<bool> within_days, within_budget;
  EvidenceShares evidence;
};

struct Upgrade {
  std::string what;     ///< "host memory 256 GiB instead of 128 GiB".
  std::string setting;  ///< "--host 256GiB", "--set machine.h2d=2x".
  bool fits = false;
  Duration step{0};
  std::optional<double>
      speedup;  ///< Step before over step after; none where it did not fit before.
};

struct BuyReport {
  std::vector<BuyRow> rows;  ///< Fitting ones first, fastest first.
  std::string base;          ///< The machine of upgrades and elasticity.
  std::vector<Upgrade> upgrades;
  /// d ln(step) / d ln(resource) of the base machine: rates with the plan as it is, capacities with
  /// the best plan found. Empty where the job does not fit there.
  std::vector<std::pair<std::string, double>> elasticity;
};

/// `config.machine` is the base. Throws BadRequest for an unknown machine.
[[nodiscard]] BuyReport buy(const RunConfig& config, const BuyRequest& request);

/// docs/schemas/buy.schema.json.
[[nodiscard]] std::string to_json_text(const BuyReport& report);

}  // namespace sluice::planner
