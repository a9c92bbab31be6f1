// Meaning of the fields of a data set's rows.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/rows/json_row.hpp"
#include "planner/runs/data_entry.hpp"

namespace sluice::engine {

/// How the rows of a data set are read: the kind of data, and the name that each field has in them.
/// Members are called as in the `columns` of a run and of dataset_info.json; an empty name stands
/// for a field that the rows do not have.
struct ExampleFormat {
  planner::DataFormat kind = planner::DataFormat::text;  ///< Kind of data; never automatic.
  std::string text = "text";                             ///< Field with the text, for kind jsonl.
  std::string prompt = "instruction", query = "input", response = "output", history = "history";
  std::string completion = "completion";
  /// Field whose text becomes the conversation's first message, a system message; for rows with an
  /// instruction or a list of messages.
  std::string system = "system";
  std::string tools = "tools";
  std::string messages = "messages";
  std::string role = "role", content = "content";
  /// Field of a turn that says whether it is learnt, besides the usual ones (weight, train, ...).
  std::string learnt = {};
  /// Pairs of a word by which turns name their role ("gpt") and what it means: a role that
  /// templates know ("assistant"), or "function_call" for a turn whose content is a call of a tool
  /// as JSON.
  std::vector<std::pair<std::string, std::string>> roles = {};
  /// Whether turns (of rows without turns: the row) that `learnt` does not mark as learnt are only
  /// read, instead of being learnt where the assistant has them.
  bool only_marked = false;
  /// Whether prompt and completion are lists of messages, as the first row has them; else they are
  /// texts.
  bool lists = false;
  /// Whether the owner named the fields, by columns: then no other field of a row is looked at.
  bool named = false;
  /// Columns that the run names, by what they hold.
  std::map<std::string, std::string> stated = {};

  [[nodiscard]] bool conversations() const {
    return kind == planner::DataFormat::alpaca || kind == planner::DataFormat::sharegpt ||
           kind == planner::DataFormat::messages ||
           (kind == planner::DataFormat::prompt_completion && lists);
  }
  /// The format as text that is equal for formats that read rows alike; it goes into the hash of
  /// the data.
  [[nodiscard]] std::string canonical() const;
};

/// The format of a kind of data under its usual names of fields and roles.
[[nodiscard]] ExampleFormat example_format(planner::DataFormat kind);

/// `format` with the names that a run or an entry of dataset_info.json states: `columns` gives the
/// name in the data for each field (as data_columns() lists them), `roles` what each of the data's
/// words for a role means.
[[nodiscard]] ExampleFormat with_names(ExampleFormat format,
                                       const std::map<std::string, std::string>& columns,
                                       const std::map<std::string, std::string>& roles);

/// The kind of data that the names of `columns` alone decide: messages; completion; response (an
/// instruction with its answer); text or prompt (texts). None if they decide nothing.
[[nodiscard]] std::optional<planner::DataFormat> kind_of_columns(
    const std::map<std::string, std::string>& columns);

}  // namespace sluice::engine
