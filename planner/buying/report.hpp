// What `sluice buy` is asked and answers: rows by prediction, upgrades, and what the step depends
// on.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "planner/predictions/predict.hpp"
#include "planner/requests/phase_memory.hpp"
#include "planner/requests/prices.hpp"

namespace sluice::planner {

enum class Payment { buy, rent };

/// What `sluice buy` is asked: machines, tokens, days, budget and prices.
struct BuyRequest {
  std::vector<std::string> machines;  ///< Machines by name or file; empty for the whole catalogue.
  std::optional<double> tokens;       ///< Tokens to train on.
  std::optional<double> days;         ///< Days within which to train.
  std::optional<double> budget_usd;
  PriceList prices;
  Payment payment = Payment::buy;
  /// The user owns the machine that the run names, so that only parts added to it cost.
  bool owned = false;
  std::int64_t threads = 2;  ///< Machines predicted at a time; the report does not depend on it.
  /// Called after each machine, never twice at a time: number done, number in all, name.
  std::function<void(std::size_t, std::size_t, const std::string&)> progress;
  std::stop_token stop = {};  ///< Once stop is requested, buy throws Interrupted.
};

enum class RowKind {
  machine,      ///< A machine as its catalogue entry or file states it.
  more_memory,  ///< A machine that did not fit, with the smallest memory kit with which it does.
  /// Eight GPUs that hold the model, by roofline (planner/buying/resident_node.hpp).
  resident_node
};
const char* to_string(RowKind kind);

struct BuyRow {
  std::string machine = {};
  RowKind kind = RowKind::machine;
  bool fits = false;
  bool owned = false;  ///< The user owns the machine; it is then neither bought nor rented.
  Duration step{0}, step_low{0}, step_high{0};
  double tokens_per_s = 0;
  /// Days for the request's tokens, with a 90 % interval.
  std::optional<double> days = {}, days_low = {}, days_high = {};
  std::optional<double> buy_usd = {}, rent_usd_per_hour = {};
  std::optional<double> rent_usd = {};  ///< Rent in USD for `days`.
  /// Price in USD by the request's payment: to buy, or to rent by the hour.
  std::optional<double> price = {};
  std::string price_date = {}, price_source = {};
  std::optional<double> cost = {};  ///< USD in all: the price to buy, or the rent for `days`.
  std::string limit =
      {};  ///< What bounds the step; where it does not fit, the tier and what it lacks.
  double limit_share = 0;       ///< The bound named in `limit` over the step.
  std::string next_limit = {};  ///< What would bound the step next, and how near that is.
  std::string remedy = {};      ///< What would help where it does not fit.
  std::int64_t gpus = 1;  ///< GPUs of the smallest host that the GPU is sold in; the job uses one.
  std::optional<PhaseMemory> phases = {};
  std::optional<SsdWear> wear = {};  ///< Wear of the drives, where they are known.
  std::optional<bool> within_days = {}, within_budget = {};
  EvidenceShares evidence = {};
  std::string nearest_case = {};
};

struct Upgrade {
  std::string what = {};  ///< The change in words, such as "+2 DIMMs: ...".
  /// The flag that states it, such as --ram "4x32 GiB DDR5-5600" or --set machine.h2d=2x.
  std::string setting = {};
  bool orderable = true;
  bool fits = false;
  Duration step{0};
  std::optional<double> speedup =
      {};  ///< Step before over step after; none where the job did not fit before.
  /// Days for the request's tokens, and days less than before.
  std::optional<double> days = {}, days_saved = {};
  std::optional<double> price = {};  ///< Price in USD of the new parts.
  /// Price in USD of the whole machine with the upgrade; none where the machine is owned, or has no
  /// price.
  std::optional<double> total = {};
  /// Whether `total`, or `price` for an owned machine, is within the budget.
  std::optional<bool> within_budget = {};
};

struct BuyReport {
  std::vector<BuyRow> rows;  ///< Rows that fit first, fastest first.
  std::string base = {};     ///< The machine that upgrades and elasticity are computed for.
  std::vector<Upgrade> upgrades = {};
  /// Elasticities d ln(step) / d ln(resource) of the base machine: rates with the same plan,
  /// capacities with the best plan found. Empty where the job does not fit there.
  std::vector<std::pair<std::string, double>> elasticity = {};
  std::vector<std::string> verdict =
      {};  ///< Sentences, the conclusion first (planner/buying/advice.hpp).
};

/// The report as JSON (docs/schemas/buy.schema.json).
[[nodiscard]] std::string to_json_text(const BuyReport& report);

}  // namespace sluice::planner
