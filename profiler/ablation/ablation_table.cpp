// table.md and plot.svg of an experiment.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "planner/units_text.hpp"
#include "profiler/ablation/ablation_files.hpp"

namespace sluice::profiler {
namespace {

using AllCells = std::vector<std::optional<CellRecord>>;
using planner::format_seconds;

/// Tokens a second beside the first cell's, "0.690"; empty where one of them has none.
std::string ratio_text(std::optional<double> first, std::optional<double> speed) {
  return first && speed ? fmt::format("{:.3f}", *speed / *first) : "";
}

/// Whole numbers, and two digits of what is below ten.
std::string tflops_text(double tflops) {
  return tflops < 10 ? fmt::format("{:.2g}", tflops) : fmt::format("{:.0f}", tflops);
}

/// "3.1 %"; empty where nothing was searched for.
std::string gap_text(const CellRecord& cell) {
  return cell.optimality_gap ? fmt::format("{:.1f} %", 100 * *cell.optimality_gap) : "";
}

std::optional<double> predicted_speed(const CellRecord& cell) {
  if (!cell.prediction || cell.status != CellStatus::fits) return std::nullopt;
  return cell.prediction->tokens_per_s;
}

std::optional<double> measured_speed(const CellRecord& cell,
                                     const std::optional<MedianInterval>& measured) {
  if (!cell.prediction || !measured) return std::nullopt;
  return cell.prediction->tokens_per_s * cell.prediction->step.count() / measured->median;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char letter : text) {
    switch (letter) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      default:
        out += letter;
    }
  }
  return out;
}

/// The next of 1, 2, 5, 10, 20, ... that makes at most six steps of `most`.
double tick_of(double most) {
  double tick = std::pow(10.0, std::floor(std::log10(std::max(most, 1e-9))) - 1);
  for (const double factor : {1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0}) {
    if (most / (tick * factor) <= 6) return tick * factor;
  }
  return tick * 100;
}

}  // namespace

std::string ablation_table(const Experiment& experiment, const AllCells& cells) {
  const bool device = experiment.on == Ground::device;
  std::string text = "# " + experiment.name + "\n\n";
  if (!experiment.question.empty()) text += experiment.question + "\n\n";
  std::string rule = "|";
  text += "|";
  for (const Factor& factor : experiment.factors) {
    text += " " + factor.name + " |";
    rule += "---|";
  }
  text += " predicted step | 90 % | tokens/s | TFLOP/s | tokens/s beside the first |";
  rule += "---|---|---|---|---|";
  if (device) {
    text += " measured step | 95 % of the median | measured tokens/s beside the first | error |";
    rule += "---|---|---|---|";
  }
  text += " bound by | HBM | search leaves |\n" + rule + "---|---|---|\n";
  const CellRecord& first = *cells.front();
  const auto first_measured = measured_of(first, experiment);
  for (const auto& each : cells) {
    const CellRecord& cell = *each;
    text += "|";
    for (const std::string& level : cell.levels) text += " " + level + " |";
    if (cell.status != CellStatus::fits) {
      text += fmt::format(
          " {}{} |", cell.reason,
          cell.prediction ? "; it would take " + format_seconds(cell.prediction->step) : "");
      text += device ? " | | | | | | | | | | |\n" : " | | | | | | |\n";
      continue;
    }
    const CellPrediction& p = *cell.prediction;
    text += fmt::format(" {} | {} to {} | {:.0f} | {} | {} |", format_seconds(p.step),
                        format_seconds(p.low), format_seconds(p.high), p.tokens_per_s,
                        tflops_text(p.model_tflops),
                        ratio_text(predicted_speed(first), predicted_speed(cell)));
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
    text +=
        fmt::format(" {} | {} | {} |\n", p.bound_by, planner::format_bytes(p.hbm), gap_text(cell));
  }
  if (std::any_of(cells.begin(), cells.end(), [](const auto& c) { return c->optimality_gap; })) {
    text +=
        "\nSearch leaves: a plan that is so much faster than the one found may exist. Cells whose "
        "difference is smaller need a higher `effort`, or more of the plan stated, to be told "
        "apart.\n";
  }
  return text;
}

std::string ablation_plot(const Experiment& experiment, const AllCells& cells) {
  constexpr int kLabel = 300, kBars = 460, kRow = 24, kTop = 44, kBottom = 46;
  const auto rows = static_cast<int>(cells.size());
  const int height = kTop + rows * kRow + kBottom;
  // Tokens a second, by cell: predicted with its interval, and measured.
  double most = 1;
  const auto tokens_of = [](const CellPrediction& p) { return p.tokens_per_s * p.step.count(); };
  for (const auto& cell : cells) {
    if (!cell->prediction) continue;
    most = std::max(most, tokens_of(*cell->prediction) / cell->prediction->low.count());
  }
  const double tick = tick_of(most);
  const double end = std::ceil(most / tick) * tick;
  const auto x = [end](double value) { return kLabel + kBars * value / end; };
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" "
      "font-size=\"12\" role=\"img\">\n<title>{}</title>\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"#fff\"/>\n<text x=\"8\" y=\"20\" font-size=\"14\" fill=\"#222\">{}</text>\n",
      kLabel + kBars + 40, height, escaped(experiment.name),
      escaped(experiment.question.empty() ? experiment.name : experiment.question));
  for (double value = 0; value <= end * 1.0001; value += tick) {
    svg += fmt::format(
        "<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" stroke=\"#ddd\"/>"
        "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\" fill=\"#555\">{4:.6g}</text>\n",
        x(value), kTop - 8, kTop + rows * kRow, kTop + rows * kRow + 16, value);
  }
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const CellRecord& cell = *cells[i];
    const int top = kTop + static_cast<int>(i) * kRow;
    const int middle = top + kRow / 2 - 3;
    svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"#222\">{}</text>\n",
                       kLabel - 8, middle + 4, escaped(cell.name));
    if (cell.status != CellStatus::fits) {
      svg += fmt::format("<text x=\"{}\" y=\"{}\" fill=\"#a33\">{}</text>\n", kLabel + 6,
                         middle + 4, escaped(cell.reason));
      continue;
    }
    const CellPrediction& p = *cell.prediction;
    const double tokens = tokens_of(p);
    svg += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"#8fb4d9\"/>"
        "<line x1=\"{:.1f}\" y1=\"{}\" x2=\"{:.1f}\" y2=\"{}\" stroke=\"#345\"/>\n",
        kLabel, top, x(p.tokens_per_s) - kLabel, kRow - 6, x(tokens / p.high.count()), middle,
        x(tokens / p.low.count()), middle);
    if (const auto measured = measured_of(cell, experiment)) {
      svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{}\" r=\"4\" fill=\"#d9534f\"/>\n",
                         x(tokens / measured->median), middle);
    }
  }
  return svg + fmt::format(
                   "<text x=\"{}\" y=\"{}\" fill=\"#555\">tokens/s: bars predicted, lines 90 %"
                   "{}</text>\n</svg>\n",
                   kLabel, height - 10, experiment.on == Ground::device ? ", dots measured" : "");
}

}  // namespace sluice::profiler
