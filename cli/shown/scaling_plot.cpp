#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "cli/shown/scaling_page.hpp"
#include "planner/files/html_text.hpp"

namespace sluice::cli {
namespace {

/// Pixels of the plot's ends.
constexpr double kLeft = 90, kRight = 620, kTop = 20, kBottom = 320;
constexpr const char* kStrongColour = "#0072b2";
constexpr const char* kWeakColour = "#d55e00";

/// A point of a curve: a number of hosts and what is shown of them.
struct Dot {
  std::int64_t hosts;
  double value;
};

std::vector<Dot> dots_of(const std::vector<planner::HostsPoint>& points,
                         const std::function<double(const planner::HostsPoint&)>& value) {
  std::vector<Dot> dots;
  for (const planner::HostsPoint& each : points) {
    if (each.step) dots.push_back({each.hosts, value(each)});
  }
  return dots;
}

/// Axis from `low` to `high`, by their logarithms or as they are, to pixels.
struct Axis {
  double low, high, from, to;
  bool is_logarithmic = true;

  [[nodiscard]] double at(double value) const {
    const auto part = [this](double each) { return is_logarithmic ? std::log(each) : each; };
    return from + (part(value) - part(low)) / (part(high) - part(low)) * (to - from);
  }
};

std::string line(double x1, double y1, double x2, double y2, const std::string& stroke) {
  return fmt::format(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" {}/>)", x1, y1, x2,
                     y2, stroke);
}

std::string label(double x, double y, const char* anchor, const std::string& text) {
  return fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}" font-size="12">{}</text>)", x,
                     y, anchor, planner::html_text(text));
}

/// A curve through its points, of which each tells its numbers.
std::string curve(const std::vector<Dot>& dots, const Axis& x, const Axis& y, const char* colour,
                  const char* name, const std::function<std::string(double)>& text) {
  std::string path, marks;
  for (const Dot& dot : dots) {
    const double at = x.at(static_cast<double>(dot.hosts)), value = y.at(dot.value);
    path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "" : " ", at, value);
    marks += fmt::format(
        R"(<circle cx="{:.1f}" cy="{:.1f}" r="4" fill="{}"><title>{}, {} host{}: {}</title></circle>)",
        at, value, colour, name, dot.hosts, dot.hosts == 1 ? "" : "s",
        planner::html_text(text(dot.value)));
  }
  return fmt::format(R"(<polyline points="{}" fill="none" stroke="{}" stroke-width="2"/>)", path,
                     colour) +
         marks;
}

/// Numbers of hosts of all dots, ascending.
std::vector<std::int64_t> hosts_of(const std::vector<Dot>& strong, const std::vector<Dot>& weak) {
  std::vector<std::int64_t> hosts;
  for (const auto* dots : {&strong, &weak}) {
    for (const Dot& dot : *dots) hosts.push_back(dot.hosts);
  }
  std::ranges::sort(hosts);
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  return hosts;
}

/// 1, 2 or 5 times powers of ten that lie between two positive numbers.
std::vector<double> round_numbers(double low, double high) {
  std::vector<double> numbers;
  for (double decade = std::pow(10, std::floor(std::log10(low))); decade <= high; decade *= 10) {
    for (const double times : {1, 2, 5}) {
      if (decade * times >= low && decade * times <= high) numbers.push_back(decade * times);
    }
  }
  return numbers;
}

/// Grid, numbers of hosts and legend, which both plots have.
std::string frame(const std::vector<std::int64_t>& hosts, const Axis& x, const Axis& y,
                  const std::vector<double>& marks,
                  const std::function<std::string(double)>& text) {
  std::string svg;
  for (const std::int64_t each : hosts) {
    const double at = x.at(static_cast<double>(each));
    svg += line(at, kTop, at, kBottom, R"(stroke="#ddd")") +
           label(at, kBottom + 18, "middle", std::to_string(each));
  }
  for (const double mark : marks) {
    svg += line(kLeft, y.at(mark), kRight, y.at(mark), R"(stroke="#ddd")") +
           label(kLeft - 6, y.at(mark) + 4, "end", text(mark));
  }
  svg += label((kLeft + kRight) / 2, kBottom + 38, "middle", "hosts");
  const auto key = [&](double top, const char* colour, const char* name) {
    return fmt::format(R"(<circle cx="{}" cy="{}" r="4" fill="{}"/>)", kRight + 16, top, colour) +
           label(kRight + 26, top + 4, "start", name);
  };
  return svg + key(kTop + 10, kStrongColour, "strong") + key(kTop + 30, kWeakColour, "weak");
}

std::string svg_of(const std::string& name, const std::string& inside) {
  return fmt::format(
      R"(<svg viewBox="0 0 720 370" width="720" role="img" aria-label="{}">{}</svg>)", name,
      inside);
}

}  // namespace

std::string speed_plot(const planner::HostsScaling& scaling) {
  const auto speed = [](const planner::HostsPoint& each) { return each.tokens_per_s; };
  const std::vector<Dot> strong = dots_of(scaling.strong, speed);
  const std::vector<Dot> weak = dots_of(scaling.weak, speed);
  const std::vector<std::int64_t> hosts = hosts_of(strong, weak);
  if (hosts.size() < 2) return "";
  const auto first = static_cast<double>(hosts.front()), last = static_cast<double>(hosts.back());
  double least = 0, most = 0;
  for (const auto* dots : {&strong, &weak}) {
    for (const Dot& dot : *dots) {
      least = least > 0 ? std::min(least, dot.value) : dot.value;
      most = std::max(most, dot.value);
    }
  }
  const Dot& base = strong.empty() ? weak.front() : strong.front();
  const double of_a_host = base.value / static_cast<double>(base.hosts);
  most = std::max(most, of_a_host * last);
  least = std::min(least, of_a_host * first);
  const Axis x{first, last, kLeft, kRight}, y{least / 1.1, most * 1.1, kBottom, kTop};
  const auto text = [](double value) { return fmt::format("{:.0f}", value); };
  const auto told = [](double value) { return fmt::format("{:.0f} tokens/s", value); };
  return svg_of("tokens/s against hosts",
                frame(hosts, x, y, round_numbers(y.low, y.high), text) +
                    line(x.at(first), y.at(of_a_host * first), x.at(last), y.at(of_a_host * last),
                         R"(stroke="#767676" stroke-dasharray="5 4")") +
                    label(x.at(last) - 6, y.at(of_a_host * last) - 6, "end", "perfect") +
                    curve(strong, x, y, kStrongColour, "strong", told) +
                    curve(weak, x, y, kWeakColour, "weak", told));
}

std::string efficiency_plot(const planner::HostsScaling& scaling) {
  const auto percent = [](const planner::HostsPoint& each) { return 100 * each.efficiency; };
  const std::vector<Dot> strong = dots_of(scaling.strong, percent);
  const std::vector<Dot> weak = dots_of(scaling.weak, percent);
  const std::vector<std::int64_t> hosts = hosts_of(strong, weak);
  if (hosts.size() < 2) return "";
  double most = 100;
  for (const auto* dots : {&strong, &weak}) {
    for (const Dot& dot : *dots) most = std::max(most, dot.value);
  }
  const Axis x{static_cast<double>(hosts.front()), static_cast<double>(hosts.back()), kLeft,
               kRight};
  const Axis y{0, 1.05 * most, kBottom, kTop, false};
  const auto text = [](double value) { return fmt::format("{:.0f} %", value); };
  return svg_of("efficiency against hosts", frame(hosts, x, y, {0, 20, 40, 60, 80, 100}, text) +
                                                curve(strong, x, y, kStrongColour, "strong", text) +
                                                curve(weak, x, y, kWeakColour, "weak", text));
}

}  // namespace sluice::cli
