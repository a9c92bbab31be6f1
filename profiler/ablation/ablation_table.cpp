// Writes table.md of an experiment.
#include <fmt/format.h>

#include <algorithm>

#include "profiler/ablation/ablation_files.hpp"
#include "profiler/ablation/cell_ratio.hpp"
#include "sim/units_text.hpp"

namespace sluice::profiler {
namespace {

using AllCells = std::vector<std::optional<CellResult>>;
using planner::format_seconds;

/// Throughput over the first cell's, such as "0.690"; empty where one of them is unknown.
std::string ratio_text(std::optional<double> first, std::optional<double> speed) {
  return first && speed ? fmt::format("{:.3f}", *speed / *first) : "";
}

/// TFLOP/s as text: whole numbers, and two digits for numbers below ten.
std::string tflops_text(double tflops) {
  return tflops < 10 ? fmt::format("{:.2g}", tflops) : fmt::format("{:.0f}", tflops);
}

/// The optimality gap, such as "3.1 %"; empty where nothing was searched for.
std::string gap_text(const CellResult& cell) {
  return cell.optimality_gap ? fmt::format("{:.1f} %", 100 * *cell.optimality_gap) : "";
}

/// Predicted throughput over the first cell's with its interval; of the first itself, "1".
std::string beside_text(const CellResult& first, const CellResult& cell) {
  if (&first == &cell) return "1";
  const auto ratio = speed_beside(first, cell);
  return ratio ? planner::to_text(*ratio) : "";
}

std::optional<double> measured_speed(const CellResult& cell,
                                     const std::optional<MedianInterval>& measured) {
  if (!cell.prediction || !measured) return std::nullopt;
  return cell.prediction->tokens_per_s * cell.prediction->step.count() / measured->median;
}

/// `text` for a cell of a Markdown table: on one line, without what ends a cell or reads as HTML.
std::string cell_text(const std::string& text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '|') {
      out += "\\|";
    } else if (letter == '<') {
      out += "&lt;";
    } else {
      out += letter == '\n' || letter == '\r' ? ' ' : letter;
    }
  }
  return out;
}

}  // namespace

std::string ablation_table(const Experiment& experiment, const AllCells& cells) {
  const bool device = experiment.on == Ground::device;
  std::string text = "# " + experiment.name + "\n\n";
  if (!experiment.question.empty()) text += experiment.question + "\n\n";
  std::string rule = "|";
  text += "|";
  for (const Factor& factor : experiment.factors) {
    text += " " + cell_text(factor.name) + " |";
    rule += "---|";
  }
  text += " predicted step | 90 % | tokens/s | TFLOP/s | tokens/s beside the first, 90 % |";
  rule += "---|---|---|---|---|";
  if (device) {
    text += " measured step | 95 % of the median | measured tokens/s beside the first | error |";
    rule += "---|---|---|---|";
  }
  text += " bound by | limited by | HBM | optimality gap |\n" + rule + "---|---|---|---|\n";
  const CellResult& first = first_that_fits(cells);
  const auto first_measured = measured_of(first, experiment);
  for (const auto& each : cells) {
    const CellResult& cell = *each;
    text += "|";
    for (const std::string& level : cell.levels) text += " " + cell_text(level) + " |";
    if (cell.status != CellStatus::fits) {
      text += fmt::format(
          " {}{} |", cell_text(cell.reason),
          cell.prediction ? "; it would take " + format_seconds(cell.prediction->step) : "");
      text += device ? " | | | | | | | | | | | |\n" : " | | | | | | | |\n";
      continue;
    }
    const CellPrediction& p = *cell.prediction;
    text += fmt::format(" {} | {} to {} | {:.0f} | {} | {} |", format_seconds(p.step),
                        format_seconds(p.low), format_seconds(p.high), p.tokens_per_s,
                        tflops_text(p.model_tflops), beside_text(first, cell));
    if (device) {
      const auto measured = measured_of(cell, experiment);
      if (measured) {
        text += fmt::format(
            " {} | {} to {} | {} | {:+.1f} % |", format_seconds(Seconds(measured->median)),
            format_seconds(Seconds(measured->low)), format_seconds(Seconds(measured->high)),
            ratio_text(measured_speed(first, first_measured), measured_speed(cell, measured)),
            100 * (p.step.count() / measured->median - 1));
      } else {
        text += " | | | |";
      }
    }
    text += fmt::format(" {} | {} | {} | {} |\n", p.bound_by, p.limited_by,
                        planner::format_bytes(p.hbm), gap_text(cell));
  }
  if (std::any_of(cells.begin(), cells.end(), [](const auto& c) { return c->optimality_gap; })) {
    text +=
        "\nOptimality gap: the best possible plan may be up to this much faster. Cells whose "
        "difference is smaller need a higher `effort`, or more of the plan stated, to be told "
        "apart.\n";
  }
  return text;
}

}  // namespace sluice::profiler
