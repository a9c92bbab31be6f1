#include "profiler/probe/probe_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/units_text.hpp"

namespace sluice::profiler {

std::string sizes_text(const std::vector<SizedRate>& copies) {
  std::string text;
  for (const SizedRate& copy : copies) {
    text += fmt::format("{}{} {:.2f}", text.empty() ? "" : ", ",
                        planner::format_bytes(Bytes(static_cast<std::int64_t>(copy.size))),
                        copy.rate.value / 1e9);
  }
  return text + " GB/s";
}

std::string with_deviation(const planner::Fact& rate, const char* unit, double scale) {
  return fmt::format("{:.4g} +- {:.2g} {}", rate.value / scale, rate.deviation / scale, unit);
}

std::string load_mixes_text(const std::vector<LoadMixSamples>& samples) {
  std::string text = fmt::format(
      "means of the middle repeats\n  {:>7} {:<6} {:<9}{:>8}{:>12}{:>10}{:>10}{:>10}\n", "threads",
      "copies", "products", "repeats", "Gparam/s", "h2d GB/s", "d2h GB/s", "TFLOP/s");
  const auto cell = [](const Samples& rates, double scale, int width) {
    return rates.empty() ? fmt::format("{:>{}}", "-", width)
                         : fmt::format("{:>{}.3f}", usual_rate(rates) / scale, width);
  };
  for (const LoadMixSamples& each : samples) {
    text += fmt::format(
        "  {:>7} {:<6} {:<9}{:>8}{}{}{}{}\n", each.mix.threads, to_string(each.mix.copies),
        each.mix.products == Products::run ? "yes" : "no",
        std::max({each.update.size(), each.h2d.size(), each.d2h.size(), each.products.size()}),
        cell(each.update, 1e9, 12), cell(each.h2d, 1e9, 10), cell(each.d2h, 1e9, 10),
        cell(each.products, 1e12, 10));
  }
  return text;
}

}  // namespace sluice::profiler
