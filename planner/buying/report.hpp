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

struct BuyRequest {
  std::vector<std::string> machines;  ///< Names or files; empty: the whole catalogue.
  std::optional<double> tokens;       ///< To train on.
  std::optional<double> days;         ///< To do it in.
  std::optional<double> budget_usd;
  PriceList prices;
  Payment payment = Payment::buy;
  bool owned = false;  ///< The machine that the run names is the user's: only orders for it cost.
  std::int64_t threads = 2;  ///< Machines predicted at a time; the report does not depend on it.
  /// Called after each machine, never two at a time: done, of, which.
  std::function<void(std::size_t, std::size_t, const std::string&)> progress;
  std::stop_token stop = {};  ///< Once asked to stop, buy throws Interrupted.
};

enum class RowKind {
  machine,       ///< As the catalogue or its file has it.
  more_memory,   ///< A machine that did not fit, with the smallest memory kit with which it does.
  resident_node  ///< Eight GPUs that hold the model, by roofline
                 ///< (planner/buying/resident_node.hpp).
};
const char* to_string(RowKind kind);

struct BuyRow {
  std::string machine = {};
  RowKind kind = RowKind::machine;
  bool fits = false;
  bool owned = false;  ///< By the request; it is then neither bought nor rented.
  Duration step{0}, step_low{0}, step_high{0};
  double tokens_per_s = 0;
  std::optional<double> days = {}, days_low = {}, days_high = {};  ///< For the request's tokens.
  std::optional<double> buy_usd = {}, rent_usd_per_hour = {};
  std::optional<double> rent_usd = {};  ///< For `days`.
  std::optional<double> price = {};  ///< US dollars: what the request's payment asks, or an hour.
  std::string price_date = {}, price_source = {};
  std::optional<double> cost = {};  ///< US dollars: the price, or the rent for `days`.
  std::string limit =
      {};  ///< What bounds the step; where it does not fit, the tier and what it lacks.
  double limit_share = 0;       ///< That bound over the step.
  std::string next_limit = {};  ///< What would bound it next, and how near that is.
  std::string remedy = {};      ///< Where it does not fit: what would help.
  std::int64_t gpus = 1;        ///< In the smallest host the GPU is sold in; the job uses one.
  std::optional<PhaseMemory> phases = {};
  std::optional<SsdWear> wear = {};  ///< Where the drives are known.
  std::optional<bool> within_days = {}, within_budget = {};
  EvidenceShares evidence = {};
  std::string nearest_case = {};
};

struct Upgrade {
  std::string what = {};     ///< "+2 DIMMs: ...".
  std::string setting = {};  ///< --ram "4x32 GiB DDR5-5600"; --set machine.h2d=2x.
  bool orderable = true;
  bool fits = false;
  Duration step{0};
  std::optional<double> speedup =
      {};  ///< Step before over step after; none where it did not fit before.
  std::optional<double> days = {}, days_saved = {};  ///< For the request's tokens.
  std::optional<double> price = {};                  ///< US dollars of the parts that are new.
  /// US dollars of the whole machine with it; none where the machine is owned, or has no price.
  std::optional<double> total = {};
  std::optional<bool> within_budget = {};  ///< `total`, or of an owned machine `price`.
};

struct BuyReport {
  std::vector<BuyRow> rows;  ///< Fitting ones first, fastest first.
  std::string base = {};     ///< The machine of upgrades and elasticity.
  std::vector<Upgrade> upgrades = {};
  /// d ln(step) / d ln(resource) of the base machine: rates with the plan as it is, capacities with
  /// the best plan found. Empty where the job does not fit there.
  std::vector<std::pair<std::string, double>> elasticity = {};
  std::vector<std::string> verdict =
      {};  ///< Sentences, the conclusion first (planner/buying/advice.hpp).
};

/// docs/schemas/buy.schema.json.
[[nodiscard]] std::string to_json_text(const BuyReport& report);

}  // namespace sluice::planner
