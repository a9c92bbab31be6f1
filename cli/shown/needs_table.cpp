#include "cli/shown/needs_table.hpp"

#include <fmt/format.h>

#include "sim/units_text.hpp"

namespace sluice::cli {
namespace {

using planner::Tier;

std::string margin_text(const planner::PhaseNeed& need) {
  if (need.fits()) return planner::format_bytes(need.margin()) + " left";
  return "SHORT by " + planner::format_bytes(need.peak - need.capacity);
}

}  // namespace

std::string phases_table(const planner::PhaseMemory& phases) {
  std::string text;
  for (const planner::Phase phase : planner::kPhases) {
    text += fmt::format("  {:<9}", to_string(phase));
    for (const Tier tier : {Tier::hbm, Tier::host, Tier::disk}) {
      const planner::PhaseNeed& need = at(phases, phase, tier);
      text += fmt::format(" {} {} ({}){}", to_string(tier), planner::format_bytes(need.peak),
                          margin_text(need), tier == Tier::disk ? "\n" : ",");
    }
  }
  for (const std::string& lacking : phase_shortages(phases)) text += "  " + lacking + "\n";
  return text;
}

std::string wear_text(const planner::SsdWear& wear) {
  if (!(wear.endurance > 0)) {
    return planner::format_bytes(wear.written_a_step) +
           " of state read and written a step; the drive's rating is not stated "
           "(--ssd-tbw SIZE)";
  }
  const std::string steps = wear.steps ? fmt::format("{:.0f} steps that write {} each", *wear.steps,
                                                     planner::format_bytes(wear.written_a_step))
                                       : "any number of steps, which write nothing to it";
  return fmt::format("rated for {:.0f} TB written: {}, or {:.0f} checkpoints",
                     wear.endurance / 1e12, steps, wear.checkpoints);
}

std::string needs_table(const planner::RunNeeds& needs, const planner::RunMoney& money) {
  std::string text = "phases\n" + phases_table(needs.phases);
  text += fmt::format("checkpoint   {}, {:.3g} bytes a parameter\n",
                      planner::format_bytes(needs.checkpoint), needs.checkpoint_a_parameter);
  if (needs.wear) text += "SSD          " + wear_text(*needs.wear) + "\n";
  if (needs.gpus > needs.devices) {
    text += fmt::format("GPUs         uses {} of the host's {}\n", needs.devices, needs.gpus);
  }
  if (money.days) text += fmt::format("tokens       {:.2f} days\n", *money.days);
  if (money.buy_usd) {
    text += fmt::format("to buy       {:.0f} USD ({})\n", *money.buy_usd, money.price_date);
  }
  if (money.rent_usd_per_hour) {
    text += fmt::format("to rent      {:.2f} USD an hour ({}){}\n", *money.rent_usd_per_hour,
                        money.rent_date,
                        money.rent_usd ? fmt::format(", {:.0f} USD in all", *money.rent_usd) : "");
  }
  return text + "validated    " + needs.nearest_case + "\n";
}

}  // namespace sluice::cli
