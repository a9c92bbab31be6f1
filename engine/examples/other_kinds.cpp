// Rows that are data for other methods.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "engine/examples/example.hpp"
#include "engine/examples/row_marks.hpp"

namespace sluice::engine {
namespace {

constexpr const char* kPreference =
    "is preference data, which no method here learns from: to learn the answers as they are, name "
    "the fields (columns: {messages: ";

/// Fields that say whether the answers of a row are good.
constexpr std::array kVerdicts = {"label",      "kto_tag",   "preferred", "is_preferred",
                                  "preference", "is_chosen", "accepted",  "is_good",
                                  "is_correct", "winner"};
/// Fields that say how good the answers of a row are.
constexpr std::array kRatings = {"score", "scores",  "reward", "rewards", "rank",
                                 "ranks", "ranking", "rating", "ratings"};

BadExample preference(const std::string& field, const std::string& messages) {
  return {.reason = field + ": " + kPreference + messages + "}, or prompt and response)",
          .of_file = true};
}

bool is_set(const Json& row, const char* field) {
  const auto found = row.find(field);
  return found != row.end() && !found->is_null();
}

/// Whether a value rates something: a number, also as the text that CSV files have, or a list.
bool is_rating(const Json& value) {
  return value.is_array() || value.is_number() ||
         (value.is_string() && weight_of_mark(value).has_value());
}

}  // namespace

std::optional<BadExample> other_kind_of_data(const Json& row) {
  if (is_set(row, "chosen") && is_set(row, "rejected")) return preference("chosen", "chosen");
  for (const char* field : kVerdicts) {
    if (is_set(row, field) && !row[field].is_object()) return preference(field, "messages");
  }
  for (const char* field : kRatings) {
    if (is_set(row, field) && is_rating(row[field])) {
      return preference(field, "messages");
    }
  }
  for (const auto& [field, value] : row.items()) {
    if (field.starts_with("rejected") && !value.is_null() && !value.empty()) {
      return preference(field, "messages");
    }
  }
  if (is_set(row, "labels") && row["labels"].is_array()) {
    return BadExample{.reason =
                          "labels: masks of a row's parts are not done here: mark messages "
                          "(\"weight\": 0), or give token ids with a mask",
                      .of_file = true};
  }
  return std::nullopt;
}

}  // namespace sluice::engine
