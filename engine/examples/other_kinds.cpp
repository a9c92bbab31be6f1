// Rows that are data for other methods.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "engine/examples/answer_columns.hpp"
#include "engine/examples/example.hpp"
#include "engine/examples/row_marks.hpp"

namespace sluice::engine {
namespace {

/// Fields that say whether the answers of a row are good.
constexpr std::array kVerdicts = {"label",      "kto_tag",   "preferred", "is_preferred",
                                  "preference", "is_chosen", "accepted",  "is_good",
                                  "is_correct", "winner"};
/// Fields that say how good the answers of a row are.
constexpr std::array kRatings = {"score", "scores",  "reward", "rewards", "rank",
                                 "ranks", "ranking", "rating", "ratings"};

bool is_set(const Json& row, const char* field) {
  const auto found = row.find(field);
  return found != row.end() && !found->is_null();
}

BadExample preference(const std::string& field, const std::string& instead) {
  return {.reason = field + ": is preference data, which no method here learns from: " + instead,
          .of_file = true};
}

/// A row with a good answer beside a bad one.
BadExample ranked(const Json& row, const std::string& field, const std::string& answer) {
  const auto columns = columns_of_answer(row, answer);
  if (!columns) {
    return preference(field, "to train on " + answer +
                                 " alone, write it as the last message of the row's messages");
  }
  return preference(field, "to train on " + answer + " alone, say columns: " + *columns);
}

/// A row whose answer is judged by a field.
BadExample judged(const Json& row, const std::string& field) {
  return preference(field,
                    "put the rows whose answers are good into a file of their own without it, or "
                    "say columns: " +
                        columns_of_row(row) + " to learn every answer, bad ones too");
}

/// Whether a value rates something: a number, also as the text that CSV files have, or a list.
bool is_rating(const Json& value) {
  return value.is_array() || value.is_number() ||
         (value.is_string() && weight_of_mark(value).has_value());
}

}  // namespace

std::optional<BadExample> other_kind_of_data(const Json& row) {
  if (is_set(row, "chosen") && is_set(row, "rejected")) return ranked(row, "chosen", "chosen");
  for (const char* field : kVerdicts) {
    if (is_set(row, field) && !row[field].is_object()) return judged(row, field);
  }
  for (const char* field : kRatings) {
    if (is_set(row, field) && is_rating(row[field])) {
      return judged(row, field);
    }
  }
  constexpr std::string_view kRejected = "rejected";
  for (const auto& [field, value] : row.items()) {
    if (!field.starts_with(kRejected) || value.is_null() || value.empty()) continue;
    const std::string chosen = "chosen" + field.substr(kRejected.size());
    if (is_set(row, chosen.c_str())) return ranked(row, field, chosen);
    return preference(
        field, "to train on the row's other answer alone, say columns: " + columns_of_row(row));
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
