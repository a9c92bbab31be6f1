#include "cli/shown/basis_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "planner/predictions/interval.hpp"
#include "planner/predictions/narrowing.hpp"
#include "sim/units_text.hpp"

namespace sluice::cli {
namespace {

using planner::BasisLine;
using planner::BasisUnit;

constexpr std::size_t kWidth = 100;
/// Shares of the variance and of the step below which a number is counted among the rest.
constexpr double kWorthALine = 0.001;

std::string value_text(const BasisLine& line) {
  switch (line.unit) {
    case BasisUnit::flops_per_second:
      return planner::format_rate(FlopsPerSecond(line.value));
    case BasisUnit::bytes_per_second:
      return planner::format_rate(BytesPerSecond(line.value));
    case BasisUnit::parameters_per_second:
      return planner::format_amount(line.value) + "/s";
    case BasisUnit::seconds:
      return planner::format_seconds(Seconds(line.value));
    case BasisUnit::ratio:
      return fmt::format("x {:.3f}", line.value);
    case BasisUnit::none:
      break;
  }
  return "-";
}

std::string deviation_text(const BasisLine& line) {
  if (line.relative_deviation == 0) return "-";
  return fmt::format("{:.1f} %", 100 * line.relative_deviation);
}

/// Name of the note with this index: a to z, then aa to az and so on.
std::string letters(std::size_t index) {
  std::string text;
  if (index >= 26) text += static_cast<char>('a' + (index / 26 - 1) % 26);
  return text + static_cast<char>('a' + index % 26);
}

/// `text` in lines of at most kWidth columns, the first after `head` and the others indented as
/// far.
std::string wrapped(const std::string& head, std::string_view text) {
  std::string out, line = head;
  const std::string indent(head.size(), ' ');
  bool empty = true;
  while (!text.empty()) {
    const auto space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    if (!empty && line.size() + 1 + word.size() > kWidth) {
      out += line + "\n";
      line = indent;
      empty = true;
    }
    line += (empty ? "" : " ") + std::string(word);
    empty = false;
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
  }
  return out + line + "\n";
}

std::string row(const std::string& name, const std::string& value, Seconds time,
                const std::string& deviation, double share, const std::string& evidence,
                const std::string& source) {
  std::string text = fmt::format("  {:<34.34}{:>14}{:>10}{:>8}{:>9.1f} %  {:<10}{}", name, value,
                                 time.count() == 0 ? "-" : planner::format_seconds(time), deviation,
                                 100 * share, evidence, source);
  while (text.ends_with(' ')) text.pop_back();
  return text + "\n";
}

std::string percent_of(Seconds half, Seconds step) {
  return fmt::format("{:.1f} %", 100 * (half / step));
}

std::string narrowing_lines(const planner::Prediction& prediction, Seconds step) {
  const auto found = planner::narrowings(prediction.basis, prediction.knowledge);
  if (found.empty()) {
    return wrapped("narrow       ",
                   "no single measurement would narrow the interval by a twentieth");
  }
  const Seconds now = planner::kInterval90 * prediction.errors.deviation();
  std::string text = fmt::format("{}: from +-{} to about +-{}", found.front().what,
                                 percent_of(now, step), percent_of(found.front().half, step));
  for (std::size_t i = 1; i < found.size(); ++i) {
    text += fmt::format("; {}: to +-{}", found[i].what, percent_of(found[i].half, step));
  }
  return wrapped("narrow       ", text);
}

}  // namespace

std::string basis_table(const planner::Prediction& prediction) {
  const Seconds step = to_seconds(prediction.step);
  std::string text = "basis        what the step rests on, the widest first\n";
  text += fmt::format("  {:<34}{:>14}{:>10}{:>8}{:>11}  {:<10}{}\n", "number", "value", "seconds",
                      "+-", "variance", "evidence", "source");
  std::vector<std::string> notes;
  Seconds rest_time{0};
  double rest_share = 0;
  std::size_t rest = 0;
  for (const BasisLine& line : prediction.basis) {
    if (std::abs(line.variance_share) < kWorthALine && std::abs(line.time / step) < kWorthALine) {
      rest_time += line.time;
      rest_share += line.variance_share;
      ++rest;
      continue;
    }
    std::string source;
    if (!line.note.empty()) {
      const auto known = std::ranges::find(notes, line.note);
      source = letters(static_cast<std::size_t>(known - notes.begin()));
      if (known == notes.end()) notes.push_back(line.note);
    }
    text += row(line.name, value_text(line), line.time, deviation_text(line), line.variance_share,
                to_string(line.grounds), source);
  }
  if (rest > 0) {
    text += row(fmt::format("{} smaller numbers", rest), "", rest_time, "", rest_share, "", "");
  }
  const Seconds half = planner::kInterval90 * prediction.errors.deviation();
  text += row("= step", "", step, "", 1, "", "");
  text += fmt::format("  90 % interval: +-{} ({})\n", planner::format_seconds(half),
                      percent_of(half, step));
  for (std::size_t i = 0; i < notes.size(); ++i) {
    text += wrapped("  " + letters(i) + (i < 26 ? "   " : "  "), notes[i]);
  }
  return text + narrowing_lines(prediction, step);
}

}  // namespace sluice::cli
