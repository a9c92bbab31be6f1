#include "profiler/traces/comparison.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <unordered_map>

namespace sluice::profiler {
namespace {

Seconds duration(const sim::TraceSpan& span) { return to_seconds(span.end - span.start); }

ComparisonRow& row_named(std::vector<ComparisonRow>& rows, const std::string& name) {
  for (ComparisonRow& row : rows) {
    if (row.name == name) return row;
  }
  rows.push_back({name, 0, Seconds(0), Seconds(0)});
  return rows.back();
}

void add(std::vector<ComparisonRow>& rows, const std::string& name, const sim::TraceSpan& a,
         const sim::TraceSpan& b) {
  ComparisonRow& row = row_named(rows, name);
  ++row.count;
  row.a += duration(a);
  row.b += duration(b);
}

std::string percent(Seconds a, Seconds b) {
  return a.count() > 0 ? fmt::format("{:+.1f} %", 100 * (b / a - 1)) : "-";
}

std::string table(const std::vector<ComparisonRow>& rows, const std::string& title,
                  const std::string& a, const std::string& b) {
  constexpr auto kHead = "{:<18}{:>8}{:>14}{:>14}{:>14} {:>9}\n";
  std::string text = fmt::format(kHead, title, "count", a + " s", b + " s", "difference s", "");
  for (const ComparisonRow& row : rows) {
    text +=
        fmt::format("{:<18}{:>8}{:>14.6f}{:>14.6f}{:>+14.6f} {:>9}\n", row.name, row.count,
                    row.a.count(), row.b.count(), row.difference().count(), percent(row.a, row.b));
  }
  return text;
}

std::string unmatched(const std::vector<std::string>& ids, const std::string& where) {
  if (ids.empty()) return {};
  constexpr std::size_t kShown = 20;
  std::string text =
      fmt::format("{} task{} only in {}:", ids.size(), ids.size() == 1 ? "" : "s", where);
  for (std::size_t i = 0; i < ids.size() && i < kShown; ++i) text += " " + ids[i];
  if (ids.size() > kShown) text += fmt::format(" and {} more", ids.size() - kShown);
  return text + "\n";
}

nlohmann::ordered_json rows_json(const std::vector<ComparisonRow>& rows) {
  auto list = nlohmann::ordered_json::array();
  for (const ComparisonRow& row : rows) {
    list.push_back({{"name", row.name},
                    {"count", row.count},
                    {"a_s", row.a.count()},
                    {"b_s", row.b.count()},
                    {"difference_s", row.difference().count()}});
  }
  return list;
}

}  // namespace

sim::Trace steps_of(const sim::Trace& trace, int first, int last) {
  sim::Trace some;
  for (const sim::TraceSpan& span : trace.spans) {
    const int step =
        span.id.size() > 2 && span.id[0] == 's' && span.id[2] == '/' ? span.id[1] - '0' : 0;
    if (first <= step && step <= last) some.spans.push_back(span);
  }
  return some;
}

Seconds step_period(const sim::Trace& trace) {
  const sim::TraceSpan* second = nullptr;
  const sim::TraceSpan* third = nullptr;
  for (const sim::TraceSpan& span : trace.spans) {
    if (span.id == "s2/grads") second = &span;
    if (span.id == "s3/grads") third = &span;
  }
  return second && third ? to_seconds(third->end - second->end) : Seconds(0);
}

Comparison compare(const sim::Trace& a, const sim::Trace& b) {
  std::unordered_map<std::string, const sim::TraceSpan*> in_b;
  for (const sim::TraceSpan& span : b.spans) in_b.emplace(span.id, &span);
  Comparison comparison;
  for (const sim::TraceSpan& span : a.spans) {
    const auto found = in_b.find(span.id);
    if (found == in_b.end()) {
      comparison.only_a.push_back(span.id);
      continue;
    }
    add(comparison.kinds, span.kind, span, *found->second);
    add(comparison.lanes, span.lane, span, *found->second);
    in_b.erase(found);
  }
  for (const sim::TraceSpan& span : b.spans) {
    if (in_b.contains(span.id)) comparison.only_b.push_back(span.id);
  }
  comparison.step_a = step_period(a);
  comparison.step_b = step_period(b);
  return comparison;
}

std::string comparison_text(const Comparison& comparison, const std::string& a,
                            const std::string& b) {
  std::string text =
      table(comparison.kinds, "task kind", a, b) + "\n" + table(comparison.lanes, "lane", a, b);
  if (comparison.step_a.count() > 0 && comparison.step_b.count() > 0) {
    text += fmt::format("\nstep: {} {:.6f} s, {} {:.6f} s, difference {:+.6f} s ({})\n", a,
                        comparison.step_a.count(), b, comparison.step_b.count(),
                        (comparison.step_b - comparison.step_a).count(),
                        percent(comparison.step_a, comparison.step_b));
  }
  return text + unmatched(comparison.only_a, a) + unmatched(comparison.only_b, b);
}

std::string comparison_json(const Comparison& comparison) {
  nlohmann::ordered_json report;
  report["version"] = 1;
  report["kinds"] = rows_json(comparison.kinds);
  report["lanes"] = rows_json(comparison.lanes);
  report["step_a_s"] = comparison.step_a.count();
  report["step_b_s"] = comparison.step_b.count();
  report["only_a"] = comparison.only_a;
  report["only_b"] = comparison.only_b;
  return report.dump(2);
}

}  // namespace sluice::profiler
