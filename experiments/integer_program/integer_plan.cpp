#include "experiments/integer_program/integer_plan.hpp"

#include <Cbc_C_Interface.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <map>

#include "planner/graph/record.hpp"
#include "planner/guided/coarse_step.hpp"
#include "planner/guided/plan_sketch.hpp"
#include "planner/guided/usual_values.hpp"
#include "planner/relaxation/plan_relaxation.hpp"

namespace sluice::planner {
namespace {

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

constexpr double kGB = 1e9;
constexpr double kEndless = 1e30;

/// A mixed integer program by rows, for Cbc.
struct MixedProgram {
  struct Row {
    std::vector<std::pair<int, double>> terms;
    double least = -kEndless, most = kEndless;
  };
  std::vector<double> cost, lower, upper;
  std::vector<bool> whole;
  std::vector<Row> rows;

  int add(double price, double least, double most, bool integer) {
    cost.push_back(price);
    lower.push_back(least);
    upper.push_back(most);
    whole.push_back(integer);
    return static_cast<int>(cost.size()) - 1;
  }
};

struct Solved {
  bool solution = false, refuted = false, late = false;
  std::vector<double> values;
  long nodes = 0;
};

Solved solve(const MixedProgram& program, double seconds) {
  std::vector<std::vector<std::pair<int, double>>> columns(program.cost.size());
  std::vector<double> least, most;
  for (std::size_t row = 0; row < program.rows.size(); ++row) {
    for (const auto& [column, value] : program.rows[row].terms) {
      if (value != 0)
        columns[static_cast<std::size_t>(column)].emplace_back(static_cast<int>(row), value);
    }
    least.push_back(program.rows[row].least);
    most.push_back(program.rows[row].most);
  }
  std::vector<int> starts{0}, indices;
  std::vector<double> values;
  for (const auto& column : columns) {
    for (const auto& [row, value] : column) {
      // Terms of one row and column add up.
      if (static_cast<int>(indices.size()) > starts.back() && indices.back() == row) {
        values.back() += value;
        continue;
      }
      indices.push_back(row);
      values.push_back(value);
    }
    starts.push_back(static_cast<int>(indices.size()));
  }
  Cbc_Model* model = Cbc_newModel();
  Cbc_loadProblem(model, static_cast<int>(program.cost.size()),
                  static_cast<int>(program.rows.size()), starts.data(), indices.data(),
                  values.data(), program.lower.data(), program.upper.data(), program.cost.data(),
                  least.data(), most.data());
  for (std::size_t i = 0; i < program.whole.size(); ++i) {
    if (program.whole[i]) Cbc_setInteger(model, static_cast<int>(i));
  }
  Cbc_setParameter(model, "logLevel", "0");
  Cbc_setParameter(model, "sec", fmt::format("{}", seconds).c_str());
  Cbc_setParameter(model, "ratio", "1e-3");
  Cbc_setParameter(model, "timeMode", "cpu");
  Cbc_solve(model);
  Solved solved;
  solved.refuted = Cbc_isProvenInfeasible(model) != 0;
  solved.late = Cbc_isSecondsLimitReached(model) != 0 || Cbc_status(model) == 1;
  solved.nodes = Cbc_getNodeCount(model);
  const double* best = solved.refuted ? nullptr : Cbc_bestSolution(model);
  if (best == nullptr && Cbc_isProvenOptimal(model) != 0) best = Cbc_getColSolution(model);
  if (best != nullptr) {
    solved.solution = true;
    solved.values.assign(best, best + program.cost.size());
  }
  Cbc_deleteModel(model);
  return solved;
}

/// Size of the largest record that leaves, and the number of slots for such.
struct RecordRing {
  Bytes size{0};
  std::int64_t slots = 2;
};

class Rounds {
 public:
  Rounds(const Predictor& predictor, const PlanRelaxation& relaxation, std::int64_t rounds,
         const IntegerSettings& settings, bool full)
      : predictor_(predictor), relaxation_(relaxation), rounds_(rounds), settings_(settings) {
    const Job& job = predictor.part();
    const BlockRecord record = block_record(job);
    const std::int64_t per_round = job.micro_batches() / rounds;
    rings_.push_back({Bytes(0), 2});
    rings_.push_back({record.input_bytes, 2});
    std::vector<std::int64_t> counts;
    for (const std::int64_t slots : {2, 3, 4, 6, 8, 12, 16, 24, 32}) {
      if (slots < per_round && !full) counts.push_back(slots);
    }
    counts.push_back(std::max<std::int64_t>(2, per_round));
    for (const Keep keep : {Keep::selective, Keep::all}) {
      for (const std::int64_t slots : counts) rings_.push_back({record.kept(keep), slots});
    }
  }

  /// The plan of the integer solution with so much memory left unused; none where there is none.
  std::optional<PlanSketch> sketch(Bytes reserve, Bytes host_reserve, IntegerOutcome& outcome,
                                   double& objective) {
    const Job& job = predictor_.part();
    const double layers = static_cast<double>(job.model.layers);
    const std::int64_t per_round = job.micro_batches() / rounds_;
    RelaxedNode node{.rounds = rounds_, .largest_record = Bytes(0), .reserve = reserve,
                     .host_reserve = host_reserve};
    const NodeProgram plain = relaxation_.program_of(node);
    RelaxedNode less = node;
    less.reserve += Bytes(static_cast<std::int64_t>(kGB));
    const NodeProgram tight = relaxation_.program_of(less);
    const std::size_t rows = plain.program.constraints.size();
    MixedProgram mixed;
    for (const LinearProgram::Constraint& each : plain.program.constraints) {
      MixedProgram::Row row;
      row.most = each.limit;
      if (each.equal) row.least = each.limit;
      mixed.rows.push_back(row);
    }
    const auto column = [&](const NodeProgram& from, std::size_t i, bool integer, double most) {
      const int at = mixed.add(from.program.cost[i], 0, most, integer);
      for (std::size_t row = 0; row < rows; ++row) {
        const double value = from.program.constraints[row].coefficients[i];
        if (value != 0) mixed.rows[row].terms.emplace_back(at, value);
      }
      return at;
    };
    // Records: of each ring its own columns, and one ring in all.
    struct Copy {
      std::size_t ring;
      UnitPlan unit;
      int at;
    };
    std::vector<Copy> records;
    MixedProgram::Row one{{}, 1, 1};
    std::vector<int> chosen;
    for (std::size_t ring = 0; ring < rings_.size(); ++ring) {
      RelaxedNode of = node;
      of.largest_record = rings_[ring].size;
      of.record_slots = {.least = rings_[ring].slots, .most = rings_[ring].slots};
      const NodeProgram program = relaxation_.program_of(of);
      const int choose = mixed.add(0, 0, 1, true);
      chosen.push_back(choose);
      one.terms.emplace_back(choose, 1);
      MixedProgram::Row only{{{choose, -layers}}, -kEndless, 0};
      for (std::size_t i = 0; i < program.records.size(); ++i) {
        const int at = column(program, i, true, layers);
        records.push_back({ring, program.records[i].unit, at});
        only.terms.emplace_back(at, 1);
      }
      mixed.rows.push_back(only);
      // What the ring takes: its limits less those without one.
      const double streams =
          rings_[ring].size > Bytes(0)
              ? static_cast<double>((stream_bytes(job) * per_round).count()) *
                    static_cast<double>(kUsualStreams - kFewestStreams) / kGB
              : 0;
      for (std::size_t row = 0; row < rows; ++row) {
        const auto& without = plain.program.constraints[row];
        const double taken = without.limit - program.program.constraints[row].limit +
                             streams * (without.limit - tight.program.constraints[row].limit);
        if (taken != 0) mixed.rows[row].terms.emplace_back(choose, taken);
      }
    }
    mixed.rows.push_back(one);
    const std::size_t first_residency = plain.records.size();
    const std::size_t first_embed = first_residency + plain.residencies.size();
    const std::size_t first_head = first_embed + plain.embeds.size();
    std::vector<int> residencies, embeds, heads;
    for (std::size_t i = first_residency; i < first_embed; ++i)
      residencies.push_back(column(plain, i, true, layers));
    for (std::size_t i = first_embed; i < first_head; ++i) embeds.push_back(column(plain, i, true, 1));
    for (std::size_t i = first_head; i < plain.slots; ++i) heads.push_back(column(plain, i, true, 1));
    const int slots = column(plain, plain.slots, false, kEndless);
    int step = slots;
    for (std::size_t i = plain.slots + 1; i < plain.program.cost.size(); ++i)
      step = column(plain, i, false, kEndless);
    if (job.model.tied_head) {
      MixedProgram::Row tied{{}, 0, 0};
      for (std::size_t i = 0; i < embeds.size(); ++i)
        if (plain.embeds[i].unit.gradients == Tier::hbm) tied.terms.emplace_back(embeds[i], 1);
      for (std::size_t i = 0; i < heads.size(); ++i)
        if (plain.heads[i].unit.gradients == Tier::hbm) tied.terms.emplace_back(heads[i], -1);
      mixed.rows.push_back(tied);
    }
    // beyond: GB of the ring for weights beyond each streamed block's share of one slot.
    const double block = static_cast<double>(unit_padded_size(job.model, 1)) / kGB;
    const double weight = block * static_cast<double>(job.weight_element().count());
    const int beyond = mixed.add(0, 0, kEndless, false);
    for (std::size_t row = 0; row < rows; ++row) {
      const double taken =
          plain.program.constraints[row].limit - tight.program.constraints[row].limit;
      if (taken != 0) mixed.rows[row].terms.emplace_back(beyond, taken);
    }
    const int streams = mixed.add(0, 0, 1, true);
    MixedProgram::Row any{{{streams, -layers}}, -kEndless, 0};
    const double ring = weight * static_cast<double>(std::min(settings_.weight_slots, job.model.layers));
    MixedProgram::Row taken{{{beyond, -1}, {streams, ring}}, -kEndless, 0};
    for (std::size_t i = 0; i < residencies.size(); ++i) {
      if (!passes_weights(plain.residencies[i].unit)) continue;
      any.terms.emplace_back(residencies[i], 1);
      taken.terms.emplace_back(residencies[i], -weight / layers);
    }
    mixed.rows.push_back(any);
    mixed.rows.push_back(taken);
    // Slots for gradients are whole: s = slot (g - n/L).
    int gradients = -1;
    {
      const double slot = block * static_cast<double>(job.gradient_element().count());
      gradients = mixed.add(0, 0, layers, true);
      const int leave = mixed.add(0, 0, 1, true);
      MixedProgram::Row whole{{{slots, -1}, {gradients, slot}}, 0, 0};
      if (rounds_ == 1) {
        // The row counts one slot; where gradients leave, the ring has more.
        whole.terms = {};
        auto& backward = mixed.rows[constraint_index(Limit::hbm_at_backward)].terms;
        backward.emplace_back(gradients, slot);
        backward.emplace_back(leave, -slot);
      }
      MixedProgram::Row fewest{{{leave, static_cast<double>(std::min(settings_.gradient_slots,
                                                                     job.model.layers))},
                                {gradients, -1}}, -kEndless, 0};
      MixedProgram::Row most{{{gradients, 1}}, -kEndless, 0};
      MixedProgram::Row some{{{leave, -layers}}, -kEndless, 0};
      for (std::size_t i = 0; i < residencies.size(); ++i) {
        if (!stores_gradient(plain.residencies[i].unit)) continue;
        if (rounds_ > 1) whole.terms.emplace_back(residencies[i], -slot / layers);
        most.terms.emplace_back(residencies[i], -1);
        some.terms.emplace_back(residencies[i], 1);
      }
      most.most = static_cast<double>(settings_.gradient_slots);
      mixed.rows.push_back(whole);
      mixed.rows.push_back(fewest);
      mixed.rows.push_back(most);
      mixed.rows.push_back(some);
    }
    if (settings_.work_price > 0) {
      for (const Limit limit : {Limit::h2d, Limit::d2h, Limit::cpu}) {
        for (const auto& [at, value] : mixed.rows[constraint_index(limit)].terms) {
          if (at != step) mixed.cost[static_cast<std::size_t>(at)] += settings_.work_price * value;
        }
      }
    }
    outcome.variables = std::max(outcome.variables, static_cast<int>(mixed.cost.size()));
    outcome.rows = std::max(outcome.rows, static_cast<int>(mixed.rows.size()));
    outcome.integers = std::max(
        outcome.integers, static_cast<int>(std::count(mixed.whole.begin(), mixed.whole.end(), true)));
    const double start = cpu_seconds();
    const Solved solved = solve(mixed, settings_.solve_s);
    const double took = cpu_seconds() - start;
    outcome.solver_s += took;
    outcome.longest_s = std::max(outcome.longest_s, took);
    outcome.nodes += solved.nodes;
    ++outcome.programs;
    outcome.late += solved.late ? 1 : 0;
    if (!solved.solution) return std::nullopt;
    objective = solved.values[static_cast<std::size_t>(step)];
    const auto value = [&solved](int at) {
      return std::round(solved.values[static_cast<std::size_t>(at)]);
    };
    RelaxedPlan relaxed;
    const auto all_records = relaxation_.record_choices(rounds_);
    relaxed.records.assign(all_records.size(), 0);
    for (const Copy& copy : records) {
      for (std::size_t i = 0; i < all_records.size(); ++i) {
        if (all_records[i].unit == copy.unit) relaxed.records[i] += value(copy.at);
      }
    }
    for (const int at : residencies) relaxed.residencies.push_back(value(at));
    for (const int at : embeds) relaxed.embeds.push_back(value(at));
    for (const int at : heads) relaxed.heads.push_back(value(at));
    Plan usual = predictor_.plan_of({}, 1);
    set_weight_buffers(usual, std::min(settings_.weight_slots, job.model.layers));
    usual.gradient_buffers = settings_.gradient_slots;
    if (gradients >= 0 && value(gradients) > 0)
      usual.gradient_buffers = static_cast<std::int64_t>(value(gradients));
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if (value(chosen[i]) > 0.5) usual.activation_buffers = rings_[i].slots;
    }
    usual.stream_buffers = kUsualStreams;
    usual.threads = usual_threads(predictor_);
    usual.copy_chunk = usual_chunk(predictor_);
    return sketch_of(relaxation_, {.rounds = rounds_}, relaxed, usual);
  }

 private:
  const Predictor& predictor_;
  const PlanRelaxation& relaxation_;
  std::int64_t rounds_;
  const IntegerSettings& settings_;
  std::vector<RecordRing> rings_;
};

std::string unit_words(const UnitPlan& unit) {
  return fmt::format("{}{}{}{}", unit.weights == Tier::hbm ? "w" : "-",
                     unit.gradients == Tier::hbm ? "g" : "-", unit.state == Tier::hbm ? "s" : "-",
                     unit.executor == Executor::cpu ? "c" : "-");
}

std::string words_of(const Plan& plan) {
  return fmt::format("rounds {} slots w{} g{} a{} {}", plan.rounds, plan.weight_buffers,
                     plan.gradient_buffers, plan.activation_buffers, counts_of(plan));
}

}  // namespace

std::string counts_of(const Plan& plan) {
  std::map<std::string, int> counts;
  for (std::size_t i = 1; i + 1 < plan.units.size(); ++i) {
    const UnitPlan& unit = plan.units[i];
    ++counts[unit_words(unit)];
    const char letter = "isa"[static_cast<int>(unit.keep)];
    ++counts[std::string(1, unit.keep_tier == Tier::host
                                ? static_cast<char>(std::toupper(letter)) : letter)];
  }
  std::string words = "E" + unit_words(plan.units.front()) + " H" + unit_words(plan.units.back());
  for (const auto& [word, count] : counts) words += fmt::format(" {}x{}", count, word);
  return words;
}

IntegerOutcome integer_plan(const Predictor& predictor, const IntegerSettings& settings) {
  IntegerOutcome outcome;
  const double start = cpu_seconds();
  const PlanRelaxation relaxation = PlanRelaxation(predictor, {}).without_rings();
  const CoarseSteps steps(predictor);
  const ResolvedMachine& machine = predictor.machine();
  std::vector<std::pair<double, std::int64_t>> order;
  for (const std::int64_t rounds : relaxation.rounds()) {
    const RelaxedPlan relaxed = relaxation.solve({.rounds = rounds});
    if (relaxed.feasible) order.emplace_back(relaxed.bound.count(), rounds);
  }
  std::sort(order.begin(), order.end());
  if (order.empty()) return outcome;
  outcome.relaxed_s = order.front().first;
  struct Found {
    double coarse_s, program_s, pace;
    bool full;
    PlanSketch sketch;
    Plan plan;
  };
  double pace = 1;
  bool full_now = false;
  std::vector<Found> found;
  double best = std::numeric_limits<double>::infinity();
  const bool tells = std::getenv("INTEGER_TELLS") != nullptr;
  const auto keep = [&](PlanSketch sketch, double program_s) -> std::optional<CoarseStep> {
    const Plan plan = to_plan(sketch);
    if (!is_valid(plan, predictor.job())) {
      ++outcome.invalid;
      return std::nullopt;
    }
    const CoarseStep coarse = steps.step(plan);
    if (coarse.hbm <= machine.hbm && coarse.host <= machine.host) {
      const double step = to_seconds(coarse.step).count();
      best = std::min(best, step);
      found.push_back({step, program_s, pace, full_now, std::move(sketch), plan});
    }
    return coarse;
  };
  const auto solve_all = [&](const PlanRelaxation& at, std::int64_t rounds,
                             const IntegerSettings& with, bool full) {
    full_now = full;
    Rounds program(predictor, at, rounds, with, full);
    Bytes reserve{0}, host_reserve{0};
    for (int i = 0; i < with.attempts; ++i) {
      double objective = 0;
      auto sketch = program.sketch(reserve, host_reserve, outcome, objective);
      if (!sketch) {
        if (tells) fmt::print(stderr, "  pace {} rounds {}: no solution\n", pace, rounds);
        return false;
      }
      const auto coarse = keep(std::move(*sketch), objective);
      if (!coarse) return false;
      const Bytes over = std::max(Bytes(0), coarse->hbm - machine.hbm);
      const Bytes over_host = std::max(Bytes(0), coarse->host - machine.host);
      if (tells)
        fmt::print(stderr, "  pace {} rounds {}: T {:.4f} coarse {:.4f} over {:.3f} GB, host {:.3f} GB\n",
                   pace, rounds, objective, to_seconds(coarse->step).count(), over.count() / kGB,
                   over_host.count() / kGB);
      if (over == Bytes(0) && over_host == Bytes(0)) return true;
      ++outcome.misses;
      if (objective > best) return true;
      reserve += over + over / 8;
      host_reserve += over_host + over_host / 8;
    }
    return false;
  };
  // Fewer slots where nothing fits.
  const auto solve_fewer = [&](const PlanRelaxation& at, std::int64_t rounds, bool full) {
    if (solve_all(at, rounds, settings, full) || !settings.rings) return;
    for (const auto& [weights, gradients] :
         std::initializer_list<std::pair<int, int>>{{2, 2}, {2, 1}, {1, 1}}) {
      IntegerSettings fewer = settings;
      fewer.weight_slots = weights;
      fewer.gradient_slots = gradients;
      if (solve_all(at, rounds, fewer, full)) return;
    }
  };
  for (const double each : settings.paces) {
    pace = each;
    const PlanRelaxation at = relaxation.at_pace({pace, pace, pace});
    for (const auto& [bound, rounds] : order) {
      if (bound <= 0.985 * best) solve_fewer(at, rounds, false);
      if (settings.rings && bound <= 0.985 * best) solve_fewer(at, rounds, true);
    }
  }
  const auto by_step = [](const Found& a, const Found& b) { return a.coarse_s < b.coarse_s; };
  std::stable_sort(found.begin(), found.end(), by_step);
  if (settings.rings && !found.empty()) {
    const Found base = found.front();
    pace = base.pace;
    const PlanRelaxation at = relaxation.at_pace({pace, pace, pace});
    for (const auto& [weights, gradients] : std::initializer_list<std::pair<int, int>>{
             {2, 2}, {4, 2}, {3, 1}, {3, 3}, {4, 4}}) {
      IntegerSettings other = settings;
      other.weight_slots = weights;
      other.gradient_slots = gradients;
      (void)solve_all(at, base.plan.rounds, other, base.full);
    }
    std::stable_sort(found.begin(), found.end(), by_step);
  }
  if (settings.orders && !found.empty()) {
    using Order = PlanSketch::Order;
    const Found base = found.front();
    for (const Order records :
         {Order::level, Order::spread, Order::grouped, Order::reversed, Order::device_first}) {
      for (const Order residencies : {Order::grouped, Order::reversed, Order::spread}) {
        PlanSketch other = base.sketch;
        other.record_order = records;
        other.residency_order = residencies;
        (void)keep(std::move(other), base.program_s);
      }
    }
    std::stable_sort(found.begin(), found.end(), by_step);
  }
  for (const Found& each : found) {
    const PlanScore score = predictor.score(each.plan);
    if (score.step.count() == 0) continue;
    outcome.plan = each.plan;
    outcome.step = score.step;
    outcome.coarse_s = each.coarse_s;
    outcome.program_s = each.program_s;
    outcome.words = words_of(each.plan);
    break;
  }
  outcome.all_s = cpu_seconds() - start;
  return outcome;
}

}  // namespace sluice::planner
