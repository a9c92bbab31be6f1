// JSON of predictions, of plans, and of refusals for lack of memory.
#pragma once

#include <string>

#include "planner/predictions/predict.hpp"
#include "planner/requests/padded_vocabulary.hpp"
#include "planner/requests/run_needs.hpp"
#include "planner/search/search.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {

/// A prediction as JSON text (docs/schemas/predict.schema.json), pretty-printed, with one newline
/// at the end. `remedies` are only for a prediction that does not fit.
[[nodiscard]] std::string to_json_text(const Prediction& prediction,
                                       const std::vector<Remedy>& remedies = {});

/// Time and cost of training on a number of tokens, for a prediction's JSON; what is none prints as
/// null. `days` is how long that takes, `rent_usd` the rent for that time, `price_date` when the
/// price to buy was read (that of the rent where there is no other), `rent_date` when the rent was.
struct RunMoney {
  std::optional<double> days = {};
  std::optional<double> buy_usd = {}, rent_usd_per_hour = {}, rent_usd = {};
  std::string price_date = {}, rent_date = {};
};
/// What the flags --explain, --beside and --scaling of `predict` add to a prediction's JSON.
struct Explained {
  bool basis = false;  ///< Whether the numbers on which the step rests are added (basis_json).
  /// Ratio of the step to that of another prediction, with its interval; none where it is not
  /// added.
  std::optional<RatioInterval> beside = {};
  std::string scaling = {};  ///< JSON text of a scaling over hosts; empty where it is not added.
};
/// A prediction as above, with what the run needs beside its steps, what it costs, a padded
/// vocabulary and what was asked to be explained.
[[nodiscard]] std::string to_json_text(const Prediction& prediction,
                                       const std::vector<Remedy>& remedies, const RunNeeds& needs,
                                       const RunMoney& money,
                                       const std::optional<PaddedVocabulary>& padding = {},
                                       const Explained& explained = {});
/// The plan as a JSON object: the fields of a plan file without hashes, layout and prediction.
[[nodiscard]] sim::Json plan_json(const Plan& plan);
/// JSON object with all fields of a prediction that fits, as `predict --json` and `plan --json`
/// share them.
[[nodiscard]] sim::Json prediction_json(const Prediction& prediction);
/// A refusal for lack of memory as JSON text: `fits: false, tier, short_bytes, remedies` and what
/// is known of the run: parameters, bound and hashes (docs/schemas/predict.schema.json).
[[nodiscard]] std::string to_json_text(const Infeasible& infeasible);

}  // namespace sluice::planner
