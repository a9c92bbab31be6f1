#include "engine/examples/row_marks.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

namespace sluice::engine {
namespace {

constexpr std::array kMarks = {"weight",        "loss_weight", "train",     "training",
                               "trainable",     "loss",        "loss_mask", "compute_loss",
                               "train_on_turn", "is_training", "learn"};
/// Marks whose every number is a weight; other numbers of the others are something else, such as
/// the loss that was measured on the row.
constexpr std::array kWeights = {"weight", "loss_weight"};
/// Fields of a row that say that it is left out.
constexpr std::array kLeavesOut = {"ignore", "ignored", "masked", "is_masked"};
/// Fields of a row that hold masks of its parts.
constexpr std::array kMaskLists = {"loss_mask", "loss_masks", "train_mask", "masks"};

template <std::size_t kSize>
bool has(const std::array<const char*, kSize>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// Whether the format reads the field as part of an example.
bool is_read(const std::string& name, const ExampleFormat& format) {
  for (const std::string* read :
       {&format.text, &format.prompt, &format.query, &format.response, &format.history,
        &format.completion, &format.system, &format.tools, &format.messages}) {
    if (name == *read) return true;
  }
  return false;
}

bool is_list_of_weights(const Json& value) {
  return value.is_array() && !value.empty() && std::ranges::all_of(value, [](const Json& each) {
           return each.is_boolean() || each.is_number();
         });
}

bool is_zero_or_one(const Json& value) {
  const auto weight = weight_of_mark(value);
  return weight == 0.0 || weight == 1.0;
}

BadExample masks_of_parts(const std::string& field) {
  return {.reason = field +
                    ": masks of a row's parts are not done here: mark messages (\"weight\": 0), or "
                    "give token ids with a mask",
          .of_file = true};
}

BadExample left_out(const std::string& field, const char* value) {
  return {.reason = field + ": is " + value + ": the row is marked as not learnt", .marked = true};
}

/// The reason for which one mark leaves its row out or refuses the file; none where it does
/// neither.
std::optional<BadExample> says(const std::string& name, const Json& value,
                               const ExampleFormat& format) {
  if (is_list_of_weights(value)) return masks_of_parts(name);
  const auto weight = weight_of_mark(value);
  const bool named = name == format.learnt;
  if (!weight) {
    if (!named || !is_filled(value)) return std::nullopt;
    return BadExample{.reason = name + ": must be true or false, or 1 or 0", .of_file = true};
  }
  if (*weight == 0) return left_out(name, "0 or false");
  if (*weight == 1 || (!named && !has(kWeights, name))) return std::nullopt;
  return BadExample{.reason = name +
                              ": rows of other weights than 1 are not done here: leave the field "
                              "out, or give rows of one weight a data set of their own",
                    .of_file = true};
}

}  // namespace

bool is_mark(const std::string& name, const ExampleFormat& format) {
  return (!format.learnt.empty() && name == format.learnt) || has(kMarks, name);
}

bool is_filled(const Json& value) {
  if (value.is_null()) return false;
  if (!value.is_string()) return !value.empty();
  const auto& text = value.get_ref<const std::string&>();
  return text.find_first_not_of(" \t\r\n") != std::string::npos && text != "[]" && text != "{}";
}

std::optional<double> weight_of_mark(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  for (const char* word : {"true", "True", "TRUE", "yes", "Yes"}) {
    if (text == word) return 1;
  }
  for (const char* word : {"false", "False", "FALSE", "no", "No"}) {
    if (text == word) return 0;
  }
  double number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = fault == std::errc() && end == text.data() + text.size();
  return whole ? std::optional(number) : std::nullopt;
}

std::optional<BadExample> marked_row(const Json& row, const ExampleFormat& format) {
  for (const auto& [name, value] : row.items()) {
    if (value.is_null() || is_read(name, format)) continue;
    if (has(kMaskLists, name) && value.is_array()) return masks_of_parts(name);
    if (name == "mask" && name != format.learnt && is_zero_or_one(value)) {
      return BadExample{.reason =
                            "mask: does not say whether 1 is learnt or left out: write \"train\": "
                            "true or false",
                        .of_file = true};
    }
    if (has(kLeavesOut, name) && name != format.learnt) {
      if (weight_of_mark(value) == 1.0) return left_out(name, "1 or true");
      continue;
    }
    if (!is_mark(name, format)) continue;
    if (auto bad = says(name, value, format)) return bad;
  }
  const bool has_turns = format.kind == planner::DataFormat::messages ||
                         format.kind == planner::DataFormat::sharegpt || format.lists;
  if (!format.only_marked || has_turns) return std::nullopt;
  const auto mark = row.find(format.learnt);
  if (mark != row.end() && weight_of_mark(*mark) == 1.0) return std::nullopt;
  return BadExample{.reason = format.learnt + ": is missing: the row is not marked as learnt",
                    .marked = true};
}

}  // namespace sluice::engine
