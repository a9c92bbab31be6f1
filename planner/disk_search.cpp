#include "planner/disk_search.hpp"

#include <algorithm>

#include "planner/disk_state.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

constexpr int kRoomsTried = 6;
/// Host buffers: an eighth of a block's state, so that few pieces do and little memory is taken.
constexpr std::int64_t kPiecesOfABlock = 8;
constexpr Bytes kLeastBuffer{64ll << 20};
constexpr Bytes kMostBuffer{1ll << 30};
/// What the ends of a slot's planes leave empty, at most.
constexpr Bytes kPlanesAligned = kDiskAlign * 8;

bool is_layer(const Plan& plan, std::size_t unit) {
  return unit > 0 && unit + 1 < plan.units.size();
}

class DiskSearch {
 public:
  DiskSearch(const Predictor& predictor, const SearchSettings& settings)
      : predictor_(predictor), settings_(settings), pinned_(pinned_plan()) {
    const Job& job = predictor.job();
    for (std::size_t unit = 0; unit < unit_count(job.model); ++unit) {
      const std::int64_t size = unit_padded_size(job.model, unit);
      parameters_.push_back(size);
      frees_.push_back({disk_element(job) * size, job.gradient_wire_element() * size,
                        job.weight_element() * size});
    }
    const std::int64_t eighth = frees_[1].state.count() / kPiecesOfABlock;
    buffer_ = std::clamp(Bytes(eighth >> 20 << 20), kLeastBuffer, kMostBuffer);
  }

  [[nodiscard]] bool pinned() const { return uses_disk(pinned_); }

  /// `in_memory`: what plans without the disk lack; none where units are pinned there.
  std::variant<Planned, Infeasible> run(const Infeasible* in_memory) {
    bool tried_most = false;
    const Bytes most = all_frees() - slots(2) - weight_slots(2);
    // A host may lack so much that the device lacks less of holding everything.
    const bool short_host = !pinned() && in_memory->tier == Tier::host;
    Bytes freed = pinned()     ? pinned_frees()
                  : short_host ? in_memory->short_by + slots(3)
                               : all_frees();
    for (int i = 0; i < kRoomsTried; ++i) {
      if (freed > most && !pinned()) {
        if (tried_most) break;
        tried_most = true;
        freed = most;
      }
      // A search that knows of no disk takes several rounds for cheap, whose sums and weights would
      // cross the disk's lanes every round.
      const bool one = pinned() ? pinned_waits() : freed > state_frees();
      const bool found = (one && attempt(freed, Rounds::one)) || attempt(freed, Rounds::any);
      if (best_) return concluded();
      if (least_.tier != Tier::host || pinned()) break;
      if (!tried_most) {
        freed += least_.short_by;
      } else if (found && least_.short_by < freed) {
        freed -= least_.short_by;  // With all of it on the disk, only a leaner plan may fit.
      } else {
        break;
      }
    }
    return pinned() || (short_host && least_.short_by.count() > 0) ? least_ : *in_memory;
  }

 private:
  enum class Rounds { one, any };

  /// Looks for the best plan of a host with so much more memory, and for ways to put of it on the
  /// disk what takes that. False where no plan fits such a host; what lacks, least_ says.
  bool attempt(Bytes freed, Rounds rounds) {
    SearchSettings inner = settings_;
    inner.pins = [this, rounds](Plan& plan) {
      if (rounds == Rounds::one) {
        plan.rounds = 1;
        plan.micro_batches_per_round = predictor_.job().micro_batches();
      }
      if (settings_.pins) settings_.pins(plan);
      for (UnitPlan& unit : plan.units) {
        if (unit.state == Tier::disk) unit.state = Tier::host;
        if (unit.gradients == Tier::disk) unit.gradients = Tier::host;
        if (unit.weights == Tier::disk) unit.weights = Tier::host;
      }
    };
    const Predictor roomier = predictor_.with_host(predictor_.machine().host + freed);
    auto found = search_in_memory(roomier, inner);
    if (const auto* lacking = std::get_if<Infeasible>(&found)) {
      least_ = *lacking;
      return false;
    }
    const Planned& planned = std::get<Planned>(found);
    simulated_ += planned.simulated;
    considered_ += planned.considered;
    space_log10_ = planned.space_log10;
    find_best_of(planned.best.prediction);
    return true;
  }

  [[nodiscard]] bool pinned_waits() const {
    return std::ranges::any_of(pinned_.units,
                               [](const UnitPlan& unit) { return unit.gradients == Tier::disk; });
  }
  Plan pinned_plan() const {
    Plan plan = uniform_plan(predictor_.job(), {}, 1);
    if (settings_.pins) settings_.pins(plan);
    return plan;
  }
  /// What so many host slots take: none is larger than the largest unit.
  [[nodiscard]] Bytes slots(std::int64_t count) const {
    Bytes largest{0};
    for (const Frees& each : frees_) largest = std::max(largest, each.state + each.gradient);
    return std::min(buffer_, largest) * count;
  }
  /// What they take more where weights pass through them, and as many slots of weights alone.
  [[nodiscard]] Bytes weight_slots(std::int64_t count) const {
    Bytes largest{0};
    for (const Frees& each : frees_) largest = std::max(largest, each.weights);
    return (std::min(buffer_, largest * 2) + kPlanesAligned) * count;
  }
  [[nodiscard]] Bytes state_frees() const {
    Bytes all{0};
    for (const Frees& each : frees_) all += each.state;
    return all;
  }
  [[nodiscard]] Bytes all_frees() const {
    Bytes all = state_frees();
    for (const Frees& each : frees_) all += each.gradient + each.weights;
    return all;
  }
  [[nodiscard]] Bytes pinned_frees() const {
    Bytes freed{0};
    for (std::size_t unit = 0; unit < frees_.size(); ++unit) {
      if (pinned_.units[unit].state == Tier::disk) freed += frees_[unit].state;
      if (pinned_.units[unit].gradients == Tier::disk) freed += frees_[unit].gradient;
      if (pinned_.units[unit].weights == Tier::disk) freed += frees_[unit].weights;
    }
    return freed;
  }

  /// Units by who goes first: the last blocks, whose weights are needed last, then the ends.
  [[nodiscard]] static std::vector<std::size_t> in_order(const Plan& plan) {
    std::vector<std::size_t> units;
    for (std::size_t unit = plan.units.size() - 1; unit-- > 1;) units.push_back(unit);
    units.push_back(plan.units.size() - 1);
    units.push_back(0);
    return units;
  }
  [[nodiscard]] static std::vector<std::size_t> movable(const Plan& plan) {
    std::vector<std::size_t> units = in_order(plan);
    std::erase_if(units,
                  [&plan](std::size_t unit) { return plan.units[unit].state != Tier::host; });
    return units;
  }
  /// Whose gradients may follow their state: a tied head's only together with the embedding's.
  [[nodiscard]] std::vector<std::size_t> with_gradients(const Plan& plan) const {
    std::vector<std::size_t> units = in_order(plan);
    std::erase_if(units, [&](std::size_t unit) {
      const UnitPlan& choice = plan.units[unit];
      return choice.state != Tier::disk || choice.gradients != Tier::host ||
             choice.when == When::backward ||
             (predictor_.job().model.tied_head && !is_layer(plan, unit));
    });
    return units;
  }

  /// Whose weights may follow their state: embedding and head first, whose weights cross the disk
  /// once a round and not twice; last those that leave HBM for it, with the master on the host.
  [[nodiscard]] static std::vector<std::size_t> with_weights(const Plan& plan) {
    std::vector<std::size_t> units = in_order(plan);
    std::rotate(units.begin(), units.end() - 2, units.end());
    std::erase_if(units, [&](std::size_t unit) {
      return plan.units[unit].state != Tier::disk || plan.units[unit].weights == Tier::disk;
    });
    std::stable_partition(units.begin(), units.end(),
                          [&](std::size_t unit) { return plan.units[unit].weights == Tier::host; });
    return units;
  }

  enum class Placement { last, even };
  /// `count` moves to the disk: of units' state, once all of it is there of gradients, and then of
  /// weights.
  [[nodiscard]] Plan moved(const Plan& plan, std::size_t count, Placement placement,
                           std::int64_t buffers) const {
    std::vector<std::size_t> units = movable(plan);
    const auto blocks = static_cast<std::size_t>(std::count_if(
        units.begin(), units.end(), [&plan](std::size_t unit) { return is_layer(plan, unit); }));
    if (placement == Placement::even && count < blocks) {
      std::vector<std::size_t> spread;
      for (std::size_t i = 0; i < count; ++i)
        spread.push_back(units[(2 * i + 1) * blocks / (2 * count)]);
      units = spread;
    }
    units.resize(std::min(count, units.size()));
    Plan made = plan;
    for (const std::size_t unit : units) {
      UnitPlan& choice = made.units[unit];
      if (choice.executor == Executor::gpu) choice.when = When::forward;
      choice.executor = Executor::cpu;
      choice.state = Tier::disk;
    }
    std::size_t left = count - std::min(count, movable(plan).size());
    for (const std::size_t unit : with_gradients(made)) {
      if (left == 0) break;
      made.units[unit].gradients = Tier::disk;
      --left;
    }
    for (const std::size_t unit : with_weights(made)) {
      if (left == 0) break;
      made.units[unit].weights = Tier::disk;
      --left;
    }
    made.disk_buffers = buffers;
    made.disk_buffer = buffer_;
    if (settings_.pins) settings_.pins(made);
    return made;
  }

  [[nodiscard]] std::size_t fewest(const Prediction& prediction) const {
    const Bytes peak = at(prediction.memory, Tier::host).peak;
    Bytes needed = slots(2);
    if (peak > predictor_.machine().host) needed += peak - predictor_.machine().host;
    std::size_t count = 0;
    Bytes freed{0};
    for (const std::size_t unit : movable(prediction.plan)) {
      if (freed >= needed) break;
      freed += frees_[unit].state;
      ++count;
    }
    const Plan all = moved(prediction.plan, count, Placement::last, 2);
    for (const std::size_t unit : with_gradients(all)) {
      if (freed >= needed) break;
      freed += waiting_element(predictor_.job(), prediction.plan) * parameters_[unit];
      ++count;
    }
    if (freed < needed) needed += weight_slots(2);
    for (const std::size_t unit : with_weights(all)) {
      if (freed >= needed) break;
      freed += frees_[unit].weights;
      ++count;
    }
    return count;
  }

  /// Simulates the ways to put state on the disk.
  void find_best_of(const Prediction& prediction) {
    const std::size_t units = prediction.plan.units.size();
    const std::size_t count = pinned() ? 0 : fewest(prediction);
    bool fitted = false;
    for (std::size_t more = 0; more < 3 && count + more <= 3 * units; ++more) {
      for (const Placement placement : {Placement::last, Placement::even}) {
        const bool all_blocks = count + more + 2 >= units;
        if (placement == Placement::even && (pinned() || all_blocks)) continue;  // As the last.
        for (const std::int64_t buffers : {2, 3, 4}) {
          // What lacks memory lacks it with more buffers, too.
          if (!fits(moved(prediction.plan, count + more, placement, buffers))) break;
          fitted = true;
        }
      }
      if (fitted || pinned()) break;
    }
  }

  bool fits(const Plan& plan) {
    if (!is_valid(plan, predictor_.job())) return false;
    ++considered_;
    const PlanScore score = predictor_.score(plan);
    if (score.step.count() == 0) {
      note_shortage(plan);
      return false;
    }
    ++simulated_;
    if (!best_ || score.step < best_->second) best_ = {plan, score.step};
    return true;
  }

  void note_shortage(const Plan& plan) {
    least_.memory = memory_of(build_step_graph(predictor_.job(), plan, predictor_.costs()),
                              predictor_.machine());
    least_.short_by = Bytes(0);
    for (const Tier tier : {Tier::hbm, Tier::host, Tier::disk}) {
      const Bytes missing = at(least_.memory, tier).missing();
      if (missing.count() == 0) continue;
      least_.tier = tier;
      least_.short_by = missing;
    }
  }

  Planned concluded() const {
    const Seconds step = to_seconds(best_->second);
    Planned planned{
        predictor_.predict(best_->first),        space_log10_,           considered_, simulated_, 0,
        std::min(predictor_.bound().time, step), predictor_.bound().time};
    planned.optimality_gap = (step - planned.bound) / step;
    return planned;
  }

  const Predictor& predictor_;
  const SearchSettings& settings_;
  Plan pinned_;
  struct Frees {
    Bytes state, gradient, weights;
  };
  std::vector<Frees> frees_;  ///< Bytes of host memory by unit.
  Bytes buffer_{0};
  std::vector<std::int64_t> parameters_;
  double space_log10_ = 0;
  std::optional<std::pair<Plan, Duration>> best_;
  Infeasible least_;
  std::int64_t considered_ = 0, simulated_ = 0;
};

}  // namespace

std::variant<Planned, Infeasible> search(const Predictor& predictor,
                                         const SearchSettings& settings) {
  DiskSearch disk(predictor, settings);
  if (disk.pinned()) return disk.run(nullptr);
  auto found = search_in_memory(predictor, settings);
  const auto* infeasible = std::get_if<Infeasible>(&found);
  if (infeasible == nullptr || !predictor.machine().state_on_disk) return found;
  return disk.run(infeasible);
}

std::string disk_share_text(const Plan& plan) {
  const auto on_disk = [](const UnitPlan& unit) { return unit.state == Tier::disk; };
  const auto blocks = std::count_if(plan.units.begin() + 1, plan.units.end() - 1, on_disk);
  std::string text = "state of " + std::to_string(blocks) + " of " +
                     std::to_string(plan.units.size() - 2) + " layers";
  if (on_disk(plan.units.back())) text += ", head";
  if (on_disk(plan.units.front())) text += ", embedding";
  const auto waiting =
      std::count_if(plan.units.begin(), plan.units.end(),
                    [](const UnitPlan& unit) { return unit.gradients == Tier::disk; });
  if (waiting == std::ssize(plan.units)) text += ", all gradients";
  if (waiting > 0 && waiting < std::ssize(plan.units)) {
    text += ", gradients of " + std::to_string(waiting) + " layers";
  }
  const auto weights =
      std::count_if(plan.units.begin(), plan.units.end(),
                    [](const UnitPlan& unit) { return unit.weights == Tier::disk; });
  if (weights == std::ssize(plan.units)) text += ", all weights";
  if (weights > 0 && weights < std::ssize(plan.units)) {
    text += ", weights of " + std::to_string(weights) + " layers";
  }
  return text + " on disk";
}

}  // namespace sluice::planner
