// Draws plot.svg of an experiment.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "planner/files/html_text.hpp"
#include "profiler/ablation/ablation_files.hpp"

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

}  // namespace

std::string ablation_plot(const Experiment& experiment, const AllCells& cells) {
  constexpr int kLabel = 300, kBars = 460, kRow = 24, kTop = 44, kBottom = 46;
  constexpr std::size_t kTitleLetters = 100, kNameLetters = 46, kReasonLetters = 70;
  const std::string& title = experiment.question.empty() ? experiment.name : experiment.question;
  const auto rows = static_cast<int>(cells.size());
  const int height = kTop + rows * kRow + kBottom;
  // Tokens a second by cell: predicted with its interval, and measured.
  double most = 1;
  const auto tokens_of = [](const CellPrediction& p) { return p.tokens_per_s * p.step.count(); };
  for (const auto& cell : cells) {
    if (!cell->prediction) continue;
    most = std::max(most, tokens_of(*cell->prediction) / cell->prediction->low.count());
    if (const auto measured = measured_of(*cell, experiment)) {
      most = std::max(most, tokens_of(*cell->prediction) / measured->low);
    }
  }
  const double tick = tick_of(most);
  const double end = std::ceil(most / tick) * tick;
  const auto x = [end](double value) { return kLabel + kBars * value / end; };
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" "
      "font-size=\"12\" role=\"img\">\n<title>{}</title>\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"#fff\"/>\n<text x=\"8\" y=\"20\" font-size=\"14\" fill=\"#222\">{}</text>\n",
      kLabel + kBars + 40, height, planner::html_text(title),
      planner::html_text(shortened(title, kTitleLetters)));
  for (double value = 0; value <= end * 1.0001; value += tick) {
    svg += fmt::format(
        "<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" stroke=\"#ddd\"/>"
        "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\" fill=\"#555\">{4:.6g}</text>\n",
        x(value), kTop - 8, kTop + rows * kRow, kTop + rows * kRow + 16, value);
  }
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const CellResult& cell = *cells[i];
    const int top = kTop + static_cast<int>(i) * kRow;
    const int middle = top + kRow / 2 - 3;
    svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"#222\">{}{}</text>\n",
                       kLabel - 8, middle + 4, whole_if_cut(cell.name, kNameLetters),
                       planner::html_text(shortened(cell.name, kNameLetters)));
    if (cell.status != CellStatus::fits) {
      svg += fmt::format("<text x=\"{}\" y=\"{}\" fill=\"#a33\">{}{}</text>\n", kLabel + 6,
                         middle + 4, whole_if_cut(cell.reason, kReasonLetters),
                         planner::html_text(shortened(cell.reason, kReasonLetters)));
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
      svg += fmt::format(
          "<line x1=\"{:.1f}\" y1=\"{}\" x2=\"{:.1f}\" y2=\"{}\" stroke=\"#d9534f\" "
          "stroke-width=\"2\"/><circle cx=\"{:.1f}\" cy=\"{}\" r=\"4\" fill=\"#d9534f\"/>\n",
          x(tokens / measured->high), middle, x(tokens / measured->low), middle,
          x(tokens / measured->median), middle);
    }
  }
  return svg +
         fmt::format(
             "<text x=\"{}\" y=\"{}\" fill=\"#555\">tokens/s: bars predicted, lines 90 %"
             "{}</text>\n</svg>\n",
             kLabel, height - 10,
             experiment.on == Ground::device ? ", dots measured, with 95 % of their median" : "");
}

}  // namespace sluice::profiler
