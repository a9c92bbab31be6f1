#include "engine/examples/column_table.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace sluice::engine {
namespace {

constexpr std::size_t kFewestRows = 2;

/// Whether a value is a column as a list: texts and numbers alone.
bool is_list_column(const Json& value) {
  return value.is_array() && std::ranges::all_of(value, [](const Json& each) {
           return each.is_string() || each.is_number() || each.is_null();
         });
}

/// Whether a value is a column as pandas writes it: an object whose names are numbers.
bool is_numbered_column(const Json& value) {
  return value.is_object() && std::ranges::all_of(value.items(), [](const auto& item) {
           return !item.key().empty() &&
                  item.key().find_first_not_of("0123456789") == std::string::npos;
         });
}

}  // namespace

std::optional<BadExample> column_table(const Json& row) {
  if (row.empty()) return std::nullopt;
  const Json& first = row.front();
  // One list of texts alone may be the parts of a text.
  const bool lists = row.size() > 1 && is_list_column(first);
  const auto alike = [&](const Json& value) {
    return value.size() == first.size() &&
           (lists ? is_list_column(value) : is_numbered_column(value));
  };
  if (first.size() < kFewestRows || !std::ranges::all_of(row, alike)) return std::nullopt;
  return BadExample{.reason = row.begin().key() +
                              ": holds a whole column, and an example is a row: write the table by "
                              "rows (pandas: to_json(FILE, orient=\"records\", lines=True))",
                    .of_file = true};
}

}  // namespace sluice::engine
