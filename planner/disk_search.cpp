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
      frees_.push_back({disk_element(job) * size, job.gradient_wire_element() * size});
    }
    const std::int64_t eighth = frees_[1].state.count() / kPiecesOfABlock;
    buffer_ = std::clamp(Bytes(eighth >> 20 << 20), kLeastBuffer, kMostBuffer);
  }

  [[nodiscard]] bool pinned() const { return uses_disk(pinned_); }

  /// `short_by`: what plans without the disk lack.
  std::variant<Planned, Infeasible> run(const Infeasible* in_memory) {
    Bytes freed = pinned() ? pinned_frees() : in_memory->short_by + slots(3);
    SearchSettings inner = settings_;
    inner.pins = [this](Plan& plan) {
      if (settings_.pins) settings_.pins(plan);
      for (UnitPlan& unit : plan.units) {
        if (unit.state == Tier::disk) unit.state = Tier::host;
        if (unit.gradients == Tier::disk) unit.gradients = Tier::host;
      }
      // A sum that waits on the disk is not added to.
      if (gradients_move_ && !pinned()) {
        plan.rounds = 1;
        plan.micro_batches_per_round = predictor_.job().micro_batches();
      }
    };
    for (int i = 0; i < kRoomsTried; ++i) {
      if (freed > all_frees()) break;
      gradients_move_ = freed > state_frees();
      const Predictor roomier = predictor_.with_host(predictor_.machine().host + freed);
      auto found = search_in_memory(roomier, inner);
      if (const auto* lacking = std::get_if<Infeasible>(&found)) {
        least_ = *lacking;
        if (lacking->tier != Tier::host || pinned()) break;
        freed += lacking->short_by;
        continue;
      }
      Planned& planned = std::get<Planned>(found);
      simulated_ += planned.simulated;
      considered_ += planned.considered;
      if (best_of(planned.best.prediction)) return concluded(planned);
      if (least_.tier != Tier::host || pinned()) break;
      freed += least_.short_by;
    }
    return least_.short_by.count() > 0 || in_memory == nullptr ? least_ : *in_memory;
  }

 private:
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
  [[nodiscard]] Bytes state_frees() const {
    Bytes all{0};
    for (const Frees& each : frees_) all += each.state;
    return all;
  }
  [[nodiscard]] Bytes all_frees() const {
    Bytes all = state_frees();
    for (const Frees& each : frees_) all += each.gradient;
    return all;
  }
  [[nodiscard]] Bytes pinned_frees() const {
    Bytes freed{0};
    for (std::size_t unit = 0; unit < frees_.size(); ++unit) {
      if (pinned_.units[unit].state == Tier::disk) freed += frees_[unit].state;
      if (pinned_.units[unit].gradients == Tier::disk) freed += frees_[unit].gradient;
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
    if (plan.rounds > 1) return {};
    std::vector<std::size_t> units = in_order(plan);
    std::erase_if(units, [&](std::size_t unit) {
      const UnitPlan& choice = plan.units[unit];
      return choice.state != Tier::disk || choice.gradients != Tier::host ||
             choice.when == When::backward ||
             (predictor_.job().model.tied_head && !is_layer(plan, unit));
    });
    return units;
  }

  enum class Placement { last, even };
  /// `count` moves to the disk: of units' state, and once all of it is there, of gradients.
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
    std::size_t waiting = count - std::min(count, movable(plan).size());
    for (const std::size_t unit : with_gradients(made)) {
      if (waiting == 0) break;
      made.units[unit].gradients = Tier::disk;
      --waiting;
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
    for (const std::size_t unit : in_order(prediction.plan)) {
      if (freed >= needed) break;
      freed += frees_[unit].gradient;
      ++count;
    }
    return count;
  }

  /// Simulates the ways to put state on the disk; false where none fits, which least_ then says.
  bool best_of(const Prediction& prediction) {
    const std::size_t units = prediction.plan.units.size();
    const std::size_t count = pinned() ? 0 : fewest(prediction);
    for (std::size_t more = 0; more < 3 && count + more <= 2 * units; ++more) {
      for (const Placement placement : {Placement::last, Placement::even}) {
        for (const std::int64_t buffers : {2, 3, 4}) {
          consider(moved(prediction.plan, count + more, placement, buffers));
        }
      }
      if (best_ || pinned()) break;
    }
    return best_.has_value();
  }

  void consider(const Plan& plan) {
    if (!is_valid(plan, predictor_.job())) return;
    ++considered_;
    const PlanScore score = predictor_.score(plan);
    if (score.step.count() == 0) return note_shortage(plan);
    ++simulated_;
    if (best_ && best_->second <= score.step) return;
    best_ = {plan, score.step};
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

  Planned concluded(const Planned& roomier) const {
    const Seconds step = to_seconds(best_->second);
    Planned planned{
        predictor_.predict(best_->first),        roomier.space_log10,    considered_, simulated_, 0,
        std::min(predictor_.bound().time, step), predictor_.bound().time};
    planned.optimality_gap = (step - planned.bound) / step;
    return planned;
  }

  const Predictor& predictor_;
  const SearchSettings& settings_;
  Plan pinned_;
  struct Frees {
    Bytes state, gradient;
  };
  std::vector<Frees> frees_;  ///< Bytes of host memory by unit.
  Bytes buffer_{0};
  bool gradients_move_ = false;  ///< All state on the disk is not enough.
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
  if (infeasible == nullptr || infeasible->tier != Tier::host ||
      !predictor.machine().state_on_disk) {
    return found;
  }
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
  return text + " on disk";
}

}  // namespace sluice::planner
