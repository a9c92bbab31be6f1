// Draws plot.svg of an experiment.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "planner/files/html_text.hpp"
#include "profiler/ablation/ablation_files.hpp"
#include "profiler/ablation/cell_ratio.hpp"
#include "profiler/ablation/plot_rows.hpp"

namespace sluice::profiler {
namespace {

using AllCells = std::vector<std::optional<CellResult>>;

/// Distance of an axis's ticks: the smallest of 1, 2, 5, 10, 20, ... that makes at most six steps
/// up to `most`.
double tick_of(double most) {
  double tick = std::pow(10.0, std::floor(std::log10(std::max(most, 1e-9))) - 1);
  for (const double factor : {1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0}) {
    if (most / (tick * factor) <= 6) return tick * factor;
  }
  return tick * 100;
}

bool begins_letter(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }

/// `text` with at most `most` letters of UTF-8: an ellipsis replaces the middle, because names of
/// cells differ at their ends.
std::string shortened(const std::string& text, std::size_t most) {
  std::vector<std::size_t> letters;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (begins_letter(text[at])) letters.push_back(at);
  }
  if (letters.size() <= most) return text;
  const std::size_t head = most / 2;
  const std::size_t tail = most - head - 1;
  return text.substr(0, letters[head]) + "\u2026" + text.substr(letters[letters.size() - tail]);
}

/// A tooltip with the whole text, where it was shortened.
std::string whole_if_cut(const std::string& text, std::size_t most) {
  return shortened(text, most) == text ? "" : "<title>" + planner::html_text(text) + "</title>";
}

double tokens_of(const CellPrediction& p) { return p.tokens_per_s * p.step.count(); }

constexpr int kLabel = 300, kBars = 460, kRatio = 150, kRow = 24, kTop = 44, kBottom = 62;
constexpr std::size_t kTitleLetters = 100, kNameLetters = 46, kReasonLetters = 70;

/// Largest tokens a second that an interval of the plot reaches, predicted or measured.
double most_tokens(const Experiment& experiment, const AllCells& cells) {
  double most = 1;
  for (const auto& cell : cells) {
    if (!cell->prediction) continue;
    most = std::max(most, tokens_of(*cell->prediction) / cell->prediction->low.count());
    if (const auto measured = measured_of(*cell, experiment)) {
      most = std::max(most, tokens_of(*cell->prediction) / measured->low);
    }
  }
  return most;
}

/// Scale of the plot's tokens a second.
struct Axis {
  double tick = 1, end = 1;
  [[nodiscard]] double x(double value) const { return kLabel + kBars * value / end; }
};

std::string ticks_text(const Axis& axis, int bottom) {
  std::string svg;
  for (double value = 0; value <= axis.end * 1.0001; value += axis.tick) {
    svg += fmt::format(
        "<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" stroke=\"#ddd\"/>"
        "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\" fill=\"#555\">{4:.6g}</text>\n",
        axis.x(value), kTop - 8, bottom, bottom + 16, value);
  }
  return svg;
}

/// Bar, intervals and ratio of one cell whose row begins at `top`.
std::string cell_marks(const Experiment& experiment, const CellResult& first,
                       const CellResult& cell, const Axis& axis, int top) {
  const int middle = top + kRow / 2 - 3;
  if (cell.status != CellStatus::fits) {
    return fmt::format("<text x=\"{}\" y=\"{}\" fill=\"#a33\">{}{}</text>\n", kLabel + 6,
                       middle + 4, whole_if_cut(cell.reason, kReasonLetters),
                       planner::html_text(shortened(cell.reason, kReasonLetters)));
  }
  const CellPrediction& p = *cell.prediction;
  const double tokens = tokens_of(p);
  std::string svg = fmt::format(
      "<rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"#8fb4d9\"/>"
      "<line x1=\"{:.1f}\" y1=\"{}\" x2=\"{:.1f}\" y2=\"{}\" stroke=\"#345\"/>\n",
      kLabel, top, axis.x(p.tokens_per_s) - kLabel, kRow - 6, axis.x(tokens / p.high.count()),
      middle, axis.x(tokens / p.low.count()), middle);
  if (const auto ratio = speed_beside(first, cell)) {
    svg += fmt::format("<text x=\"{}\" y=\"{}\" fill=\"#222\">{}</text>\n", kLabel + kBars + 12,
                       middle + 4, planner::html_text(planner::to_text(*ratio)));
  }
  if (const auto measured = measured_of(cell, experiment)) {
    svg += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{}\" x2=\"{:.1f}\" y2=\"{}\" stroke=\"#d9534f\" "
        "stroke-width=\"2\"/><circle cx=\"{:.1f}\" cy=\"{}\" r=\"4\" fill=\"#d9534f\"/>\n",
        axis.x(tokens / measured->high), middle, axis.x(tokens / measured->low), middle,
        axis.x(tokens / measured->median), middle);
  }
  return svg;
}

}  // namespace

std::string ablation_plot(const Experiment& experiment, const AllCells& cells) {
  const std::string& title = experiment.question.empty() ? experiment.name : experiment.question;
  const std::vector<PlotRow> rows = plot_rows(experiment, cells);
  const auto headings =
      std::ranges::count_if(rows, [](const PlotRow& row) { return row.heading.has_value(); });
  const int bottom = kTop + static_cast<int>(rows.size() + headings) * kRow;
  const double most = most_tokens(experiment, cells);
  Axis axis{.tick = tick_of(most)};
  axis.end = std::ceil(most / axis.tick) * axis.tick;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" "
      "font-size=\"12\" role=\"img\">\n<title>{}</title>\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"#fff\"/>\n<text x=\"8\" y=\"20\" font-size=\"14\" fill=\"#222\">{}</text>\n",
      kLabel + kBars + kRatio, bottom + kBottom, planner::html_text(title),
      planner::html_text(shortened(title, kTitleLetters)));
  svg += ticks_text(axis, bottom);
  const CellResult& first = first_that_fits(cells);
  int top = kTop;
  for (const PlotRow& row : rows) {
    const CellResult& cell = *cells[row.cell];
    if (row.heading) {
      svg += fmt::format("<text x=\"8\" y=\"{}\" font-weight=\"bold\" fill=\"#222\">{}{}</text>\n",
                         top + kRow / 2 + 1, whole_if_cut(*row.heading, kReasonLetters),
                         planner::html_text(shortened(*row.heading, kReasonLetters)));
      top += kRow;
    }
    // The tooltip has the cell's whole name, whatever its label leaves out.
    svg += fmt::format(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"#222\"><title>{}</title>{}</text>\n",
        kLabel - 8, top + kRow / 2 + 1, planner::html_text(cell.name),
        planner::html_text(shortened(row.label, kNameLetters)));
    svg += cell_marks(experiment, first, cell, axis, top);
    top += kRow;
  }
  return svg +
         fmt::format(
             "<text x=\"{0}\" y=\"{1}\" fill=\"#555\">tokens/s: bars predicted, lines 90 %{3}"
             "</text>\n<text x=\"{0}\" y=\"{2}\" fill=\"#555\">at the right: times the first "
             "cell's, 90 % of the ratio, in which what both rest on cancels</text>\n</svg>\n",
             kLabel, bottom + 34, bottom + 50,
             experiment.on == Ground::device ? ", dots measured, with 95 % of their median" : "");
}

}  // namespace sluice::profiler
