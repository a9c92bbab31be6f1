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

/// Names of the fields of an example, called as in the `columns` of a run and of dataset_info.json.
/// An empty name is a field that the examples do not have.
struct ExampleFormat {
  planner::DataFormat kind = planner::DataFormat::text;  ///< Kind of the data; never automatic.
  std::string text = "text";                             ///< Field of the text, in jsonl.
  std::string prompt = "instruction", query = "input", response = "output", history = "history";
  std::string completion = "completion";
  /// Field whose text becomes the conversation's first message, a system message: for rows with an
  /// instruction or a list of messages.
  std::string system = "system";
  std::string tools = "tools";
  std::string messages = "messages";
  std::string role = "role", content = "content";
  std::string learnt = {};  ///< Field of a turn that says whether it is learnt, beside the usual.
  /// Meaning of each word that turns use for their role: a template's role, or "function_call" for
  /// a turn whose content is a call of a tool as JSON.
  std::vector<std::pair<std::string, std::string>> roles = {};
  /// Whether prompt and completion are lists of messages; else they are texts.
  bool lists = false;
  /// Whether the fields were named, by columns: then no other field of a row is looked at.
  bool named = false;

  [[nodiscard]] bool conversations() const {
    return kind == planner::DataFormat::alpaca || kind == planner::DataFormat::sharegpt ||
           kind == planner::DataFormat::messages ||
           (kind == planner::DataFormat::prompt_completion && lists);
  }
  /// The format as text that is equal for formats that read examples alike; used for hashes.
  [[nodiscard]] std::string canonical() const;
};

/// The usual field names of a kind of data.
[[nodiscard]] ExampleFormat example_format(planner::DataFormat kind);

/// `format` with the names that a run or an entry states: `columns` as data_columns() lists them,
/// `roles` by the data's own words.
[[nodiscard]] ExampleFormat with_names(ExampleFormat format,
                                       const std::map<std::string, std::string>& columns,
                                       const std::map<std::string, std::string>& roles);

/// The kind of data that named columns alone decide: messages, prompt and completion, prompt and
/// response, or text. None if they decide nothing.
[[nodiscard]] std::optional<planner::DataFormat> kind_of_columns(
    const std::map<std::string, std::string>& columns);

}  // namespace sluice::engine
