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
      frees_.push_back(disk_element(job) * unit_tensors(job.model, unit).padded_size);
    }
    const std::int64_t eighth = frees_[1].count() / kPiecesOfABlock;
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
      }
    };
    for (int i = 0; i < kRoomsTried; ++i) {
      if (freed > all_frees()) break;
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
    return std::min(buffer_, *std::max_element(frees_.begin(), frees_.end())) * count;
  }
  [[nodiscard]] Bytes all_frees() const {
    Bytes all{0};
    for (const Bytes each : frees_) all += each;
    return all;
  }
  [[nodiscard]] Bytes pinned_frees() const {
    Bytes freed{0};
    for (std::size_t unit = 0; unit < frees_.size(); ++unit) {
      if (pinned_.units[unit].state == Tier::disk) freed += frees_[unit];
    }
    return freed;
  }

  /// Units by who goes first: the last blocks, whose weights are needed last, then the ends.
  [[nodiscard]] std::vector<std::size_t> movable(const Plan& plan) const {
    std::vector<std::size_t> units;
    for (std::size_t unit = plan.units.size() - 1; unit-- > 1;) units.push_back(unit);
    units.push_back(plan.units.size() - 1);
    units.push_back(0);
    std::erase_if(units,
                  [&plan](std::size_t unit) { return plan.units[unit].state != Tier::host; });
    return units;
  }

  enum class Placement { last, even };
  /// `count` units of `plan` on the disk.
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
      freed += frees_[unit];
      ++count;
    }
    return count;
  }

  /// Simulates the ways to put state on the disk; false where none fits, which least_ then says.
  bool best_of(const Prediction& prediction) {
    const std::size_t units = prediction.plan.units.size();
    const std::size_t count = pinned() ? 0 : fewest(prediction);
    for (std::size_t more = 0; more < 3 && count + more <= units; ++more) {
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
  std::vector<Bytes> frees_;  ///< Bytes of host memory by unit.
  Bytes buffer_{0};
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
  return text + " on disk";
}

}  // namespace sluice::planner
