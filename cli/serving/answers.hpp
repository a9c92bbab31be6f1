// What the server computes for the page.
#pragma once

#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "cli/serving/asked_run.hpp"

namespace sluice::cli {

/// Answers of predict and buy as JSON texts. One is computed at a time; the latest predictions are
/// kept, because the page asks for a prediction and its timeline. Safe to call from several
/// threads.
class Answers {
 public:
  /// `prices`: the file of prices that predictions and advice use; none leaves money out.
  /// `host_numerics_id`: the numerics id of the host backend, empty in builds without the engine.
  Answers(std::optional<std::filesystem::path> prices, std::string host_numerics_id);

  /// JSON object with `models`, `machines` and `parts`, as `models`, `machines` and `machines
  /// parts` print them with --json, and the names of `policies`.
  [[nodiscard]] std::string catalogue() const;

  /// The run's prediction as the JSON of `sluice predict --json`. Throws BadRequest.
  [[nodiscard]] std::string prediction(const Query& query);

  /// The timeline of the run's predicted step (step_timeline), or an object without tasks where the
  /// run does not fit. Throws BadRequest.
  [[nodiscard]] std::string timeline(const Query& query);

  /// Advice on machines for the run as the JSON of `sluice buy --json`, within about `seconds`.
  /// Throws BadRequest.
  [[nodiscard]] std::string advice(const Query& query, int seconds);

 private:
  struct Predicted {
    std::vector<std::string> words;
    std::string prediction, timeline;
  };
  [[nodiscard]] std::shared_ptr<const Predicted> predicted(const Query& query);

  std::optional<std::filesystem::path> prices_;
  std::string host_numerics_id_;
  std::mutex computing_;
  std::deque<std::shared_ptr<const Predicted>> latest_;  ///< The newest first.
};

}  // namespace sluice::cli
