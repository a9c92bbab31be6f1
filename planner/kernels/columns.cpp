#include "planner/kernels/columns.hpp"

#include <charconv>
#include <cmath>
#include <map>

#include "sim/error.hpp"
#include "sim/nearest_name.hpp"

namespace sluice::planner {
namespace {

/// Name of the same column in other tables; null where there is none.
const char* other_name(const std::string& column) {
  static const std::map<std::string, const char*> names = {{"batch_size", "sequences"},
                                                           {"isl", "seq_len"},
                                                           {"num_heads", "heads"},
                                                           {"num_key_value_heads", "kv_heads"},
                                                           {"window_size", "window"}};
  const auto found = names.find(column);
  return found == names.end() ? nullptr : found->second;
}

}  // namespace

std::optional<double> cell_number(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<std::size_t> KernelHeader::find(const std::string& name) const {
  const char* other = other_name(name);
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < line_.cells.size(); ++i) {
    const std::string& cell = line_.cells[i];
    if (cell != name && (other == nullptr || cell != other)) continue;
    if (found) refuse_doubled(line_.cells[*found], cell);
    found = i;
  }
  return found;
}

void KernelHeader::refuse_doubled(const std::string& first, const std::string& second) const {
  throw BadRequest(at_line(file_, line_.number) + ", column " + second + ": " +
                   (first == second ? "is there twice" : "says what column " + first + " does") +
                   ": remove or rename one of the two");
}

std::size_t KernelHeader::at(const std::string& name, const std::string& fix) const {
  if (const auto found = find(name)) return *found;
  throw BadRequest(at_line(file_, line_.number) + ", column " + name +
                   ": is missing from the header: " + fix + sim::did_you_mean(name, line_.cells));
}

std::vector<std::optional<std::size_t>> KernelHeader::sizes(KernelKind kind) const {
  std::string all;
  for (const KernelColumn& column : kernel_columns(kind)) {
    if (!column.optional) all += (all.empty() ? "" : ", ") + std::string(column.name);
  }
  std::vector<std::optional<std::size_t>> places;
  for (const KernelColumn& column : kernel_columns(kind)) {
    places.push_back(
        column.optional
            ? find(column.name)
            : at(column.name, "a table of " + std::string(to_string(kind)) + " names " + all));
  }
  return places;
}

void KernelHeader::check_cells(const CsvLine& line) const {
  const std::size_t has = line.cells.size(), names = line_.cells.size();
  if (has == names) return;
  throw BadRequest(at_line(file_, line.number) + ", column " +
                   (has < names ? line_.cells[has] : line_.cells.back()) + ": " +
                   std::to_string(has) + " cells under " + std::to_string(names) +
                   " columns: " + (has < names ? "add those missing" : "remove those beyond") +
                   " or remove the line");
}

void refuse_cell(const std::string& file, const CsvLine& line, const std::string& column,
                 const std::string& text, const std::string& fix) {
  throw BadRequest(at_line(file, line.number) + ", column " + column + ": \"" + text + "\" " + fix);
}

KernelShape read_shape(const std::string& file, const CsvLine& line, KernelKind kind,
                       const std::vector<std::optional<std::size_t>>& places) {
  constexpr double kLargest = 1e12;
  KernelShape shape;
  const auto columns = kernel_columns(kind);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!places[i]) continue;
    const std::string& text = line.cells[*places[i]];
    const auto size = cell_number(text);
    const std::string name = columns[i].name;
    const bool zero_is_said = columns[i].optional || name == "num_key_value_heads";
    if (!size || *size != std::floor(*size) || *size > kLargest || *size < (zero_is_said ? 0 : 1)) {
      refuse_cell(file, line, name, text,
                  std::string("must be a ") + (zero_is_said ? "" : "positive ") +
                      "whole number: correct the cell or remove the line");
    }
    shape.size[i] = *size;
  }
  // 0 key-value heads: as many as heads.
  if (kind == KernelKind::attention && shape.size[3] == 0) shape.size[3] = shape.size[2];
  if (!shares_heads_evenly(kind, shape)) {
    refuse_cell(file, line, columns[3].name, line.cells[*places[3]],
                "must divide the row's heads, " + line.cells[*places[2]] +
                    ": correct the cell or remove the line");
  }
  return shape;
}

}  // namespace sluice::planner
