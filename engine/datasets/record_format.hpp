// What the fields of a data set's records mean.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/datasets/conversation.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::engine {

/// The fields of one record, with the names that dataset_info.json gives them as `columns` and
/// `tags`; an empty name is a field that the records do not have.
struct RecordFormat {
  planner::DataFormat kind = planner::DataFormat::text;  ///< Not automatic.
  std::string text = "text";                             ///< jsonl
  std::string prompt = "instruction", query = "input", response = "output", history = "history";
  std::string system = "system";  ///< Of alpaca, and beside the messages.
  std::string messages = "messages";
  std::string role = "role", content = "content";
  std::vector<std::pair<std::string, Speaker>> speakers;  ///< By the value of `role`.

  [[nodiscard]] bool conversations() const {
    return kind != planner::DataFormat::text && kind != planner::DataFormat::jsonl;
  }
  /// Equal texts read equal records alike: for hashes.
  [[nodiscard]] std::string canonical() const;
};

/// The format's usual names.
[[nodiscard]] RecordFormat record_format(planner::DataFormat kind);

/// A text to continue, or a conversation.
using Example = std::variant<std::string, Conversation>;

/// Throws BadRequest `WHERE: FIELD: ...` where a field is missing or is not what the format says.
[[nodiscard]] Example read_example(const nlohmann::json& record, const RecordFormat& format,
                                   const std::string& where);

}  // namespace sluice::engine
