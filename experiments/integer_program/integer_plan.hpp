// Plans of one integer program per number of rounds, solved by Cbc, laid out, and solved again with
// what the layout found too much on the right sides of the rows of memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/predictions/predict.hpp"

namespace sluice::planner {

struct IntegerSettings {
  std::vector<double> paces{1};  ///< Paces of links and updates, each with programs of its own.
  /// Price of a second of each lane's work beside a second of the step: of plans that are equally
  /// fast by the program, one that copies and updates less.
  double work_price = 0;
  double solve_s = 2;    ///< Most seconds of one solution.
  int attempts = 8;      ///< Solutions of one program until its plan fits.
  bool rings = false;    ///< Whether other fewest slots are tried for the best program too.
  bool orders = false;   ///< Whether every order of the best plan's blocks is simulated too.
  std::int64_t weight_slots = 3, gradient_slots = 2;  ///< Fewest slots, where anything streams.
};

struct IntegerOutcome {
  std::optional<Plan> plan;
  Duration step{0};        ///< Exact; 0 where no plan fits.
  double coarse_s = 0;     ///< Of the same plan.
  double program_s = 0;    ///< T of the program that gave it.
  int programs = 0, late = 0, misses = 0, invalid = 0;
  double solver_s = 0, longest_s = 0, relaxed_s = 0, all_s = 0;  ///< CPU time.
  long nodes = 0;
  int variables = 0, integers = 0, rows = 0;  ///< Of the largest program.
  std::string words;
};

/// How many blocks make each choice: w, g, s where weights, gradients and state are on the device,
/// c where the CPU updates; and records: letter of Keep, capital on the host.
[[nodiscard]] std::string counts_of(const Plan& plan);
[[nodiscard]] IntegerOutcome integer_plan(const Predictor& predictor, const IntegerSettings& settings);

}  // namespace sluice::planner
