#include "planner/buying/advice_text.hpp"

#include <cstdio>

#include "planner/catalogue/several_gpus.hpp"

namespace sluice::planner {
namespace {

constexpr double kHoursUntil = 2;  ///< Number of days below which a time is given in hours.

}  // namespace

std::string decimal(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string dollars(double value) {
  std::string digits = decimal(value, 0);
  for (std::ptrdiff_t i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > 0; i -= 3) {
    digits.insert(static_cast<std::size_t>(i), ",");
  }
  return digits + " USD";
}

std::string days_text(double days) {
  return days < kHoursUntil ? decimal(days * 24, 1) + " hours"
                            : decimal(days, days < 20 ? 1 : 0) + " days";
}

std::string days_range(double low, double high) {
  if ((low < kHoursUntil) != (high < kHoursUntil)) return days_text(low) + " to " + days_text(high);
  const std::string first = days_text(low);
  return first.substr(0, first.find(' ')) + " to " + days_text(high);
}

std::string time_text(const BuyRow& row) {
  if (!row.days) return decimal(row.tokens_per_s, 0) + " tokens/s";
  return days_text(*row.days) + " (" + days_range(*row.days_low, *row.days_high) + ")";
}

std::int64_t host_gib(const BuyRow& row) {
  return (at(*row.phases, Phase::save, Tier::host).peak.count() >> 30) + 1;
}

std::string rent_text(const BuyRow& row) {
  std::string text = row.machine + " at " + decimal(*row.rent_usd_per_hour, 2) +
                     " USD an hour: " + time_text(row) + ", " + dollars(*row.rent_usd);
  if (row.rented) {
    text += ", with its " + std::to_string(row.rented->memory.count() >> 30) +
            " GiB of host memory and " + std::to_string(row.rented->cores) + " cores";
  } else if (row.phases && row.gpus == 1) {
    text += ", with " + std::to_string(host_gib(row)) +
            " GiB of host memory, which not every lessor gives";
  }
  const std::string used = std::to_string(row.devices);
  const std::string of =
      row.kind == RowKind::instance ? " (uses " + used + " of its " : " (" + used + " of a node's ";
  if (row.gpus > row.devices) text += of + std::to_string(row.gpus) + " GPUs)";
  return text;
}

std::string sockets_text(const std::string& machine) {
  const auto parts = find_counted_parts(machine);
  if (!parts) return "";
  const std::int64_t sockets = sockets_of(find_cpu(parts->parts.cpu), parts->gpus);
  if (sockets < 2) return "";
  return " (" + std::to_string(sockets) + " CPUs and " +
         std::to_string(sockets * parts->parts.ram.count) + " modules)";
}

std::string buy_text(const BuyRow& row) {
  std::string text = row.machine;
  if (row.kind == RowKind::build) text += sockets_text(row.machine);
  if (row.buy_usd) text += " for " + dollars(*row.buy_usd);
  text += ": " + time_text(row);
  if (row.gpus > row.devices) {
    text += (row.like.empty() ? "; sold in nodes of " : "; has ") + std::to_string(row.gpus) +
            " GPUs, of which this uses " + std::to_string(row.devices);
  }
  return text;
}

}  // namespace sluice::planner
