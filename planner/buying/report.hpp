// Request and answer of `sluice buy`: rows by prediction, upgrades, and what the step depends on.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "planner/effort/deadline.hpp"
#include "planner/explanation/devices_pay.hpp"
#include "planner/predictions/predict.hpp"
#include "planner/requests/instance.hpp"
#include "planner/requests/phase_memory.hpp"
#include "planner/requests/prices.hpp"

namespace sluice::planner {

enum class Payment { buy, rent };

/// How much of its time a machine works, by which break-even is counted in months.
struct MachineUse {
  std::optional<double> runs_per_month = {};  ///< Runs of the request's tokens in a month.
  std::optional<double> share = {};  ///< Share (0 to 1] of its time that a bought machine works.
  std::optional<double> usd_per_kwh = {};  ///< Price of electricity; none leaves it out.
  /// Share (0 to below 1) of its price that a machine is sold for once it has paid.
  double resale = 0;
  /// Date from which months are counted; none where dates are not to be said.
  std::optional<std::chrono::year_month_day> today = {};
};

/// Request of `sluice buy`: machines to compare, tokens, days, budget and prices.
struct BuyRequest {
  /// Machines to compare, by name or file; empty for the whole catalogue.
  std::vector<std::string> machines;
  /// Numbers of hosts, above 1, of which each machine named and each instance is a row too.
  std::vector<std::int64_t> hosts = {};
  /// NICs that join them, where an instance does not state its own; empty where nothing does.
  std::string nic = {};
  /// Number of tokens to train on; none where the request does not say.
  std::optional<double> tokens;
  /// Number of days within which to train on `tokens`; none for no limit.
  std::optional<double> days;
  std::optional<double> budget_usd;
  /// Further budgets, for which builds are searched too.
  std::vector<double> other_budgets_usd = {};
  MachineUse use = {};
  /// Time after which the search over builds plans no further one; the report then depends on the
  /// speed of this computer.
  Deadline until = {};
  /// Time after which upgrades and elasticities are left out.
  Deadline end = {};
  PriceList prices;
  Payment payment = Payment::buy;
  /// Whether the user owns the machine that the run names, so that only parts added to it cost
  /// anything.
  bool owned = false;
  /// Number of machines predicted at the same time; the report does not depend on it.
  std::int64_t threads = 2;
  /// Function that is called after each machine, never twice at a time, with the number of machines
  /// done, their number in all, and the machine's name.
  std::function<void(std::size_t, std::size_t, const std::string&)> progress;
  /// Token by which a caller can stop the comparison, which then throws Interrupted.
  std::stop_token stop = {};
};

/// Sets the request's deadlines so that the answer comes within about `seconds`: the search over
/// builds has six tenths of them, and what comes after the rows is left out when eight are over.
inline void answer_within(Seconds seconds, BuyRequest& request) {
  constexpr double kForBuilds = 0.6, kForRows = 0.8;
  request.until = Deadline::in(seconds * kForBuilds);
  request.end = Deadline::in(seconds * kForRows);
}

enum class RowKind {
  machine,  ///< A machine as its catalogue entry or its file states it.
  /// A machine whose host memory is too small for the job, with the smallest memory kit that is
  /// large enough.
  more_memory,
  instance,  ///< An instance of a cloud.
  build  ///< A build of parts that the search over builds found (planner/buying/build_search.hpp).
};
const char* to_string(RowKind kind);

/// How far the engine is known to run on a machine's GPU (planner/catalogue/machine_list.hpp).
enum class EngineOnGpu {
  unknown,    ///< The row does not say.
  tested,     ///< It has run on a GPU of this architecture.
  never_run,  ///< It may run; nothing was ever run on a GPU of this architecture.
  none        ///< It does not support the architecture.
};

const char* to_string(EngineOnGpu engine);

/// A number with its 90 % interval.
struct Range {
  double usual = 0, low = 0, high = 0;
};

/// What running the request's tokens once on a bought machine costs, in USD.
struct RunCost {
  /// Watts of GPU and CPU (PowerRule); none where the machine's parts are not known.
  std::optional<Range> watts = {};
  Range energy_usd = {};  ///< 0 where watts or the price of electricity are not known.
  double drives_usd = 0;  ///< Share of the drives' price that the run wears out.
};
/// Break-even of a bought machine against a rented one:
///
///   months = price x (1 - resale) / (runs a month x (rent of a run - energy and worn drives))
struct BreakEven {
  double runs_per_month = 0;
  /// Whether more runs a month were asked for than the machine can do; `runs_per_month` is then
  /// what it can.
  bool is_capped = false;
  /// Whether the request states how much the machine works; else it works without a pause.
  bool is_stated = false;
  RunCost run = {};
  /// Months until buying has paid, with the 90 % intervals of both runs' times and of the watts;
  /// none where a run costs more on the bought machine than rented.
  std::optional<double> months = {}, months_low = {}, months_high = {};
};

/// BuyRow::limit of a row that no plan was searched for.
inline constexpr const char* kNotPlanned = "not planned: time was over";

struct BuyRow {
  std::string machine = {};
  RowKind kind = RowKind::machine;
  bool fits = false;
  /// Whether the user owns the machine, which is then neither bought nor rented.
  bool owned = false;
  EngineOnGpu engine = EngineOnGpu::unknown;
  /// Whether the machine's host is an Arm CPU.
  bool is_arm = false;
  /// Machine of the catalogue whose numbers an instance has; empty where it is `machine`.
  std::string like = {};
  /// Host memory and cores of the instance, or of the share of a node, that is rented with one GPU;
  /// none for a machine with a host of its own.
  std::optional<RentedHost> rented = {};
  /// Whether a build costs no less than another row's and is not faster by kSameStep; it is then
  /// shown as the cheapest or the fastest of its GPU.
  bool is_beaten = false;
  /// Bytes that plans may take of the machine's drives, where the search over builds lends them;
  /// else none.
  std::optional<Bytes> disk_lent = {};
  Duration step{0}, step_low{0}, step_high{0};
  double tokens_per_s = 0;
  /// Days that the request's tokens take, with a 90 % interval; none where no tokens were given.
  std::optional<double> days = {}, days_low = {}, days_high = {};
  std::optional<double> buy_usd = {}, rent_usd_per_hour = {};
  /// Rent in USD for as long as the request's tokens take (`days`).
  std::optional<double> rent_usd = {};
  /// The price, in USD, that the request's `payment` asks about: for buying the machine, or for
  /// renting it by the hour.
  std::optional<double> price = {};
  std::string price_date = {}, price_source = {};
  std::string rent_date = {};  ///< Date of `rent_usd_per_hour`; empty where there is none.
  /// Cost of the request's tokens in USD: the price to buy, or the rent for `days`.
  std::optional<double> cost = {};
  /// Name of the largest bound of the step, such as "compute", and of several devices the lane that
  /// is busy for longest; where the job does not fit, the tier that is short and by how much.
  std::string limit = {};
  /// The bound that `limit` names, or the time for which that lane is busy, as a share (0 to 1) of
  /// the step.
  double limit_share = 0;
  /// The largest bound but `limit`, with its share of the step, such as "dram at 80 % of the step".
  std::string next_limit = {};
  /// What to change so that the job fits, such as a flag, or what is in the way, in words; empty
  /// where it fits.
  std::string remedy = {};
  /// Number of GPUs of the machine, or of the smallest host that the GPU is sold in.
  std::int64_t gpus = 1;
  std::int64_t devices = 1;  ///< Number of them that share each step of the job.
  /// Why the job uses fewer GPUs than an instance has, in words; empty where it uses all.
  std::string devices_note = {};
  std::optional<PhaseMemory> phases = {};
  /// Wear of the machine's drives; none where the drives are not known.
  std::optional<SsdWear> wear = {};
  /// Electricity and worn drives of a run of the request's tokens on a bought machine.
  RunCost run = {};
  std::optional<bool> within_days = {}, within_budget = {};
  EvidenceShares evidence = {};
  std::string nearest_case = {};
  /// What the predicted step may err by, cause by cause (planner/predictions/ratio_interval.hpp).
  StepErrors errors = {};
  /// This row's step time over that of the machine BuyReport::base, with a 90 % interval; none for
  /// that machine itself, and where the job does not fit on either.
  std::optional<RatioInterval> beside_base = {};
};

struct Upgrade {
  std::string what = {};  ///< The upgrade in words, such as "+2 DIMMs: ...".
  /// Flag that makes the change, such as --ram "4x32 GiB DDR5-5600" or --set machine.h2d=2x.
  std::string setting = {};
  bool orderable = true;
  bool fits = false;
  Duration step{0};
  std::optional<double> speedup =
      {};  ///< Step before the upgrade over step after it; none where the job did not fit before.
  /// The ratio `speedup` with its 90 % interval.
  std::optional<RatioInterval> speedup_interval = {};
  /// Days for the request's tokens with the upgrade, and how many fewer than before.
  std::optional<double> days = {}, days_saved = {};
  std::optional<double> price = {};  ///< Price in USD of the parts that the upgrade adds.
  /// Price in USD of the whole machine with the upgrade; none where the user owns the machine, or
  /// where it has no price.
  std::optional<double> total = {};
  /// Whether the upgrade is within the budget, by `total`, or by `price` for an owned machine.
  std::optional<bool> within_budget = {};
};

/// A build that was left out unplanned, with its price.
struct LeftOutBuild {
  std::string machine;
  double usd = 0;
  bool lends_drives = false;  ///< Whether plans would keep state on its drives.
};

/// Numbers of builds that the search over builds dealt with; all 0 where there was none.
struct BuildCounts {
  std::size_t planned = 0;
  std::size_t ruled_out = 0;  ///< Ruled out by a bound, by a better build or by a guess.
  std::size_t open = 0;       ///< Neither planned nor ruled out in the time given.
  /// The cheapest builds of kinds of GPUs that may fit and were left out as poor
  /// (FoundBuilds::left_out), cheapest first.
  std::vector<LeftOutBuild> left_out = {};
};

/// Rows of a comparison, and the numbers of builds that were searched for them.
struct ComparedRows {
  std::vector<BuyRow> rows;
  BuildCounts builds = {};
};

/// Break-even of one row to buy against one to rent.
struct BoughtOrRented {
  std::string bought, rented;  ///< Names of the machines.
  BreakEven pays;
};

/// What the GPUs of one row gain over one of them.
struct DevicesWorth {
  std::string machine;  ///< Name of the row.
  DevicesPay pay;
};

struct BuyReport {
  /// The request in one sentence (model, sizes, tokens, budget, days), for the head of a page.
  std::string question = {};
  /// Machines compared: first those on which the job fits, fastest first.
  std::vector<BuyRow> rows;
  BuildCounts builds = {};
  /// Why the engine cannot train the job, as a sentence without a full stop; empty where it can.
  std::string untrainable = {};
  /// Sentence that says which GPUs have no rows, because they lack products that the job needs;
  /// empty where none was left out.
  std::string left_out = {};
  /// The worth of the GPUs of the base machine or, where that has one, of the fastest row with
  /// several within the budget; none where no such row fits.
  std::optional<DevicesWorth> devices = {};
  /// Sentences of advice on the base machine that cost no money: a larger micro-batch for a
  /// mixture, a larger batch where the link sets the step, state on drives where host memory is
  /// short.
  std::vector<std::string> before_hardware = {};
  /// Whether the time was over before upgrades and elasticities were computed.
  bool is_cut = false;
  std::string base = {};  ///< Name of the machine from which upgrades and elasticity start.
  std::vector<Upgrade> upgrades = {};
  /// Elasticities d ln(step) / d ln(resource) of the base machine, by the resource's name: for
  /// rates with the same plan, for capacities with the best plan found. Empty where the job does
  /// not fit there.
  std::vector<std::pair<std::string, double>> elasticity = {};
  /// The break-even of the machine to buy that pays soonest; none where no row is rented, or none
  /// bought.
  std::optional<BoughtOrRented> break_even = {};
  std::vector<std::string> verdict =
      {};  ///< Sentences of advice, conclusion first (planner/buying/advice.hpp).
};

/// The report as JSON text (docs/schemas/buy.schema.json).
[[nodiscard]] std::string to_json_text(const BuyReport& report);

}  // namespace sluice::planner
