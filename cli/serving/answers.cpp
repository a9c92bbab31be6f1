#include "cli/serving/answers.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/serving/own_program.hpp"
#include "cli/serving/step_timeline.hpp"
#include "cli/words/money_flags.hpp"
#include "planner/catalogue/machine_list.hpp"
#include "planner/catalogue/model_list.hpp"
#include "planner/catalogue/part_list.hpp"
#include "planner/policies/policy.hpp"
#include "planner/requests/run_arguments.hpp"
#include "planner/requests/run_prediction.hpp"
#include "planner/runs/several_hosts.hpp"
#include "sim/error.hpp"
#include "sim/json_tree.hpp"

namespace sluice::cli {

Answers::Answers(std::optional<std::filesystem::path> prices, std::string host_numerics_id)
    : prices_(std::move(prices)), host_numerics_id_(std::move(host_numerics_id)) {
  if (prices_) (void)planner::read_prices(*prices_);  // Refused now and not at the first question.
}

std::string Answers::catalogue() const {
  sim::Json json;
  json["models"] = sim::Json::parse(planner::model_list_json());
  json["machines"] = sim::Json::parse(planner::machine_list_json());
  json["parts"] = sim::Json::parse(planner::part_list_json());
  json["policies"] = planner::policy_names();
  json["prices"] = prices_.has_value();
  return json.dump() + "\n";
}

std::shared_ptr<const Answers::Predicted> Answers::predicted(const Query& query) {
  constexpr std::size_t kKept = 16;
  const std::vector<std::string> words = run_words(query, Question::prediction);
  const std::scoped_lock one_at_a_time(computing_);
  const auto known =
      std::ranges::find_if(latest_, [&](const auto& one) { return one->words == words; });
  if (known != latest_.end()) return *known;
  using Takes = planner::VerbFlag::Takes;
  const planner::RunArguments request = planner::parse_run(words, {{"--tokens", Takes::value, ""}});
  const std::optional<double> tokens = token_count(request);
  planner::PriceList prices;
  if (prices_) prices = planner::read_prices(*prices_);
  auto result = std::make_shared<Predicted>();
  result->words = words;
  auto outcome = planner::prediction_of(request.config, {.policy = request.policy});
  if (const auto* infeasible = std::get_if<planner::Infeasible>(&outcome)) {
    result->prediction = to_json_text(*infeasible);
    result->timeline = "{}\n";
  } else {
    auto& [resolved, step, remedies, is_kept] = std::get<planner::RunPrediction>(outcome);
    if (resolved.predictor.machine().profile.device == planner::DeviceKind::host &&
        !host_numerics_id_.empty()) {
      step.prediction.numerics_id = host_numerics_id_;
    }
    const planner::RunNeeds needs = run_needs(step.prediction, resolved.predictor, request.config);
    const planner::RunMoney money =
        planner::money_of(step.prediction, planner::machine_name(request.config), tokens, prices);
    result->prediction = to_json_text(step.prediction, remedies, needs, money,
                                      planner::try_padded_vocabulary(resolved, step));
    result->timeline = step_timeline(step);
  }
  latest_.push_front(result);
  if (latest_.size() > kKept) latest_.pop_back();
  return result;
}

std::string Answers::prediction(const Query& query) { return predicted(query)->prediction; }

std::string Answers::timeline(const Query& query) { return predicted(query)->timeline; }

std::string Answers::advice(const Query& query, int seconds) {
  std::vector<std::string> words = run_words(query, Question::purchase);
  words.insert(words.begin(), "buy");
  words.insert(words.end(), {"--json", "--seconds", std::to_string(seconds)});
  if (prices_)
    words.insert(words.end(), {"--prices", std::filesystem::absolute(*prices_).string()});
  const std::scoped_lock one_at_a_time(computing_);
  const ProgramOutput output = run_own_program(words);
  const auto code = static_cast<ExitCode>(output.code);
  if (code == ExitCode::done || code == ExitCode::does_not_fit) return output.out;
  constexpr std::string_view kBegin = "sluice: error: ";
  const std::size_t at = output.errors.find(kBegin);
  std::string line = at == std::string::npos
                         ? "buy ended with exit code " + std::to_string(output.code)
                         : output.errors.substr(at + kBegin.size());
  line = line.substr(0, line.find('\n'));
  if (code == ExitCode::bad_request) throw BadRequest(line);
  throw EnvironmentError(line);
}

}  // namespace sluice::cli
