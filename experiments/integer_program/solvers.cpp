// Solves linear programs, as a search wrote them to a file, by the planner's simplex and by Clp, in
// turns: solvers FILE [dual|primal|warm]. Prints how the least costs differ and the CPU time of each.
#include <ClpSimplex.hpp>
#include <CoinPackedMatrix.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "planner/relaxation/linear_program.hpp"

namespace {

using sluice::planner::LinearProgram;
using sluice::planner::LinearSolution;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::optional<LinearProgram> read(std::FILE* file) {
  std::size_t variables = 0, rows = 0;
  if (std::fread(&variables, sizeof variables, 1, file) != 1) return std::nullopt;
  if (std::fread(&rows, sizeof rows, 1, file) != 1) return std::nullopt;
  LinearProgram program;
  program.cost.resize(variables);
  if (std::fread(program.cost.data(), sizeof(double), variables, file) != variables) return {};
  for (std::size_t row = 0; row < rows; ++row) {
    double head[2];
    LinearProgram::Constraint constraint;
    constraint.coefficients.resize(variables);
    if (std::fread(head, sizeof(double), 2, file) != 2) return std::nullopt;
    constraint.limit = head[0];
    constraint.equal = head[1] != 0;
    if (std::fread(constraint.coefficients.data(), sizeof(double), variables, file) != variables)
      return std::nullopt;
    program.constraints.push_back(std::move(constraint));
  }
  return program;
}

enum class Method { dual, primal, warm };

/// By Clp without presolve; `warm` starts from the basis of the program before, if it has as many
/// rows and columns.
class ByClp {
 public:
  explicit ByClp(Method method) : method_(method) {}

  LinearSolution solve(const LinearProgram& program) {
    const int variables = static_cast<int>(program.cost.size());
    const int rows = static_cast<int>(program.constraints.size());
    std::vector<int> starts(1, 0), columns;
    std::vector<double> values, lower, upper, least(program.cost.size(), 0),
        most(program.cost.size(), COIN_DBL_MAX);
    for (const LinearProgram::Constraint& row : program.constraints) {
      for (int i = 0; i < variables; ++i) {
        const double value = row.coefficients[static_cast<std::size_t>(i)];
        if (value == 0) continue;
        columns.push_back(i);
        values.push_back(value);
      }
      starts.push_back(static_cast<int>(columns.size()));
      lower.push_back(row.equal ? row.limit : -COIN_DBL_MAX);
      upper.push_back(row.limit);
    }
    const CoinPackedMatrix matrix(false, variables, rows, static_cast<int>(values.size()),
                                  values.data(), columns.data(), starts.data(), nullptr);
    ClpSimplex model;
    model.setLogLevel(0);
    model.loadProblem(matrix, least.data(), most.data(), program.cost.data(), lower.data(),
                      upper.data());
    if (method_ == Method::warm && status_.size() == static_cast<std::size_t>(variables + rows)) {
      std::memcpy(model.statusArray(), status_.data(), status_.size());
    }
    if (method_ == Method::primal) {
      model.primal();
    } else {
      model.dual();
    }
    if (method_ == Method::warm)
      status_.assign(model.statusArray(), model.statusArray() + variables + rows);
    LinearSolution found;
    found.feasible = model.status() != 1;
    ++counts[model.status()];
    if (!found.feasible) {
      double* ray = model.infeasibilityRay();
      has_ray += ray != nullptr ? 1 : 0;
      delete[] ray;
      return found;
    }
    found.cost = model.objectiveValue();
    found.values.assign(model.primalColumnSolution(), model.primalColumnSolution() + variables);
    for (int row = 0; row < rows; ++row) found.prices.push_back(-model.dualRowSolution()[row]);
    return found;
  }

  int counts[8] = {}, has_ray = 0;

 private:
  Method method_;
  std::vector<unsigned char> status_;
};

double violation(const LinearProgram& program, const std::vector<double>& values) {
  double worst = 0;
  for (const LinearProgram::Constraint& row : program.constraints) {
    double sum = 0, size = std::abs(row.limit);
    for (std::size_t i = 0; i < values.size(); ++i) {
      sum += row.coefficients[i] * values[i];
      size += std::abs(row.coefficients[i] * values[i]);
    }
    const double over = sum - row.limit;
    worst = std::max(worst, (row.equal ? std::abs(over) : over) / std::max(size, 1e-300));
  }
  return worst;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string name = count > 2 ? arguments[2] : "dual";
  ByClp clp(name == "primal" ? Method::primal : name == "warm" ? Method::warm : Method::dual);
  std::FILE* file = std::fopen(arguments[1], "rb");
  if (file == nullptr) return 1;
  double own_s = 0, clp_s = 0, rows = 0, columns = 0;
  long programs = 0, disagree = 0, other_values = 0, refuted = 0;
  std::vector<double> apart, own_off, clp_off;
  std::uint64_t bits = 0;  // Of all that Clp found.
  while (const auto program = read(file)) {
    LinearSolution own, other;
    const auto by_own = [&] {
      const double start = cpu_seconds();
      own = minimize(*program);
      own_s += cpu_seconds() - start;
    };
    const auto by_clp = [&] {
      const double start = cpu_seconds();
      other = clp.solve(*program);
      clp_s += cpu_seconds() - start;
    };
    if (programs % 2 == 0) by_own(), by_clp();
    else by_clp(), by_own();
    ++programs;
    rows += static_cast<double>(program->constraints.size());
    columns += static_cast<double>(program->cost.size());
    if (own.feasible != other.feasible) {
      ++disagree;
      continue;
    }
    if (!own.feasible) {
      ++refuted;
      continue;
    }
    apart.push_back(std::abs(own.cost - other.cost) / std::max(1e-9, std::abs(own.cost)));
    own_off.push_back(violation(*program, own.values));
    clp_off.push_back(violation(*program, other.values));
    for (const double each : other.values) {
      std::uint64_t word = 0;
      std::memcpy(&word, &each, sizeof word);
      bits = (bits ^ word) * 1099511628211u + (bits >> 29);
    }
    double most = 0;
    for (std::size_t i = 0; i < own.values.size(); ++i)
      most = std::max(most, std::abs(own.values[i] - other.values[i]));
    other_values += most > 1e-4 ? 1 : 0;
  }
  const auto at = [](std::vector<double>& all, double part) {
    if (all.empty()) return 0.0;
    std::sort(all.begin(), all.end());
    return all[static_cast<std::size_t>(part * static_cast<double>(all.size() - 1))];
  };
  const long over = std::count_if(apart.begin(), apart.end(), [](double each) { return each > 1e-6; });
  std::printf("%s: %ld programs of %.0f rows, %.0f columns; %ld refuted by both, %ld where only one says so\n",
              name.c_str(), programs, rows / programs, columns / programs, refuted, disagree);
  std::printf("  own %.1f us, Clp %.1f us a program of CPU: %.2f times\n", 1e6 * own_s / programs,
              1e6 * clp_s / programs, clp_s / own_s);
  std::printf("  costs differ: median %.1e, 99 %% %.1e, most %.1e; %ld by more than 1e-6\n", at(apart, .5),
              at(apart, .99), at(apart, 1), over);
  std::printf("  other values at the same cost: %ld; violation, most: own %.1e, Clp %.1e\n", other_values,
              at(own_off, 1), at(clp_off, 1));
  std::printf("  hash of the bits of Clp's values: %016llx\n", static_cast<unsigned long long>(bits));
  std::printf("  Clp status 0: %d, 1: %d (with a ray %d), 2: %d, others %d\n", clp.counts[0], clp.counts[1],
              clp.has_ray, clp.counts[2], clp.counts[3] + clp.counts[4] + clp.counts[5]);
}
