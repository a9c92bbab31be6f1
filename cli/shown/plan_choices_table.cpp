#include "cli/shown/plan_choices_table.hpp"

#include <fmt/format.h>

#include "sim/units_text.hpp"

namespace sluice::cli {
namespace {

using planner::BatchPoint;
using planner::format_bytes;
using planner::format_seconds;
using planner::FrontAxis;

std::string batch_text(const BatchPoint& point) {
  if (!point.fits) return fmt::format("{} sequences a step do not fit", point.batch_size);
  return fmt::format("{} sequences a step wait for copies {:.1f} % of {}, {:.0f} tokens/s",
                     point.batch_size, 100 * point.exposed, format_seconds(to_seconds(point.step)),
                     point.tokens_per_s);
}

/// Line about anything that was cut short because time was up.
std::string cut_short_line(const char* what) {
  return fmt::format("             cut short: there was no time for {}\n", what);
}

}  // namespace

std::string link_table(const planner::HiddenLink& link) {
  std::string text = "link         ";
  if (link.hidden) {
    text += fmt::format("hidden from {} sequences a step on\n             {}\n",
                        link.hidden->batch_size, batch_text(*link.hidden));
    if (link.exposed) text += "             " + batch_text(*link.exposed) + "\n";
  } else {
    text += fmt::format("no batch up to {} sequences hides it: {}\n", link.largest->batch_size,
                        batch_text(*link.largest));
  }
  if (link.cut_short) {
    text += cut_short_line(link.hidden ? "the sizes between these" : "larger batches");
  }
  if (!link.hidden || link.asked.batch_size != link.hidden->batch_size) {
    text += "             asked for: " + batch_text(link.asked) + "\n";
  }
  if (link.compute_bound_from) {
    return text + fmt::format("             compute sets the bound from {} sequences on\n",
                              *link.compute_bound_from);
  }
  return text + "             compute sets the bound at no batch that was tried\n";
}

std::string front_table(const planner::ParetoFront& front) {
  const char* axis = to_string(front.axis);
  if (front.points.empty() && !front.cut_short) {
    return fmt::format("front        {}: nothing fits\n", axis);
  }
  std::string text = fmt::format(
      "front        step against {}; time a token beside the plan found, 90 %\n"
      "  {:>10} {:>12} {:>12} {:>10} {:>10} {:>22}  {}\n",
      front.axis == FrontAxis::tokens ? "tokens a step" : axis, "batch", "hbm", "host", "step",
      "tokens/s", "beside", "plan");
  for (const planner::FrontPoint& point : front.points) {
    const std::string beside = point.beside
                                   ? fmt::format("{:.2f} ({:.2f} to {:.2f})", point.beside->ratio,
                                                 point.beside->low, point.beside->high)
                                   : "-";
    text += fmt::format("  {:>10} {:>12} {:>12} {:>10} {:>10.0f} {:>22}  {}\n", point.batch_size,
                        format_bytes(point.hbm), format_bytes(point.host),
                        format_seconds(to_seconds(point.step)), point.tokens_per_s, beside,
                        point.plan_hash.substr(0, 8));
  }
  if (front.cut_short) text += cut_short_line("more of this front");
  return text;
}

std::string sizes_table(const planner::ChosenSizes& sizes, const planner::RunConfig& asked) {
  std::string text = "chose        " + describe_choice(asked, sizes.config) + "\n";
  if (sizes.config.micro_batch != asked.micro_batch ||
      sizes.config.loss_chunk != asked.loss_chunk) {
    text += fmt::format("             to use it: micro_batch={} loss_chunk={}\n",
                        sizes.config.micro_batch, sizes.config.loss_chunk);
  }
  for (const planner::SizeTrial& trial : sizes.trials) {
    text += fmt::format(
        "  micro_batch {:>4}, loss_chunk {:>6}: {}\n", trial.micro_batch, trial.loss_chunk,
        trial.step ? format_seconds(to_seconds(*trial.step)) : "slower, or does not fit");
  }
  if (sizes.cut_short) text += cut_short_line("more sizes");
  return text;
}

}  // namespace sluice::cli
