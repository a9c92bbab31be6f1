// The data sets of a run: what `data` states, one entry each.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sluice::planner {

/// Format of a data set's examples.
enum class DataFormat {
  automatic,  ///< Inferred from the file's name and first example ("auto").
  text,       ///< The whole file is one text.
  bytes,      ///< The whole file is one text, whose byte values are the tokens of any model.
  jsonl,      ///< One example a line: {"text": ...}.
  alpaca,     ///< Examples are {"instruction", "input", "output", "system", "history"}.
  sharegpt,   ///< Examples are {"conversations": [{"from", "value"}, ...]}.
  messages,   ///< Examples are {"messages": [{"role", "content"}, ...]}.
  /// Examples are {"prompt", "completion"}, two texts or two lists of messages.
  prompt_completion,
  tokens,  ///< Token ids, in a .npy or .bin file.
};

/// What a pass over several data sets is.
enum class Mixture {
  weights,  ///< The rows of each set as often as its weight says.
  /// Sets are drawn from by their shares until the first has no rows left; each row is read at most
  /// once ("first_exhausted", as Hugging Face's interleave_datasets has it).
  first_exhausted,
  /// Sets are drawn from by their shares until every row was read; smaller sets begin anew
  /// ("all_exhausted").
  all_exhausted,
};
const char* to_string(Mixture mixture);
/// Parses a mixture by its name. Throws BadRequest naming `path` and the mixtures.
[[nodiscard]] Mixture parse_mixture(const std::string& value, const std::string& path);

/// One data set of a run. Where an optional field is empty, the run's own key of that name holds,
/// and else what the file says of itself.
struct DataEntry {
  /// A file, a name in dataset_info.json, or the id of a data set in the local Hugging Face cache.
  std::filesystem::path name;
  /// How often the set's training rows are read in a pass: 2 is twice, 0.5 every other row; either
  /// all sets of a run have a weight or none has. Without weights every row is read once.
  std::optional<double> weight = {};
  /// Share of a mixture's rows that are this set's, relative to the other sets' shares; either all
  /// sets of a run have one or none has. Needs a mixture that is drawn by shares.
  std::optional<double> share = {};
  /// Largest number of rows that are read, from the first on.
  std::optional<std::int64_t> max_samples = {};
  /// Percentage of the rows that are read at most, from the first on.
  std::optional<double> max_percent = {};
  /// Name of the split, for a data set in the local Hugging Face cache.
  std::optional<std::string> split = {};
  /// Name of the configuration, for a data set in the local Hugging Face cache.
  std::optional<std::string> subset = {};
  std::optional<DataFormat> format = {};
  /// Names that the data's own files give to fields, by what the field holds (data_columns).
  std::map<std::string, std::string> columns = {};
  /// Roles of turns: for each of the data's own words, one of user, assistant, system, tool,
  /// function_call and developer.
  std::map<std::string, std::string> roles = {};
  /// Whether only turns that the column `learnt` marks are learnt, instead of all of the
  /// assistant's that it does not leave out.
  bool only_marked = false;
  friend bool operator==(const DataEntry&, const DataEntry&) = default;
};

/// Keys of DataEntry::columns: text, prompt, query, response, completion, system, history, messages
/// and tools name fields of an example; role, content and learnt name fields of a turn.
[[nodiscard]] const std::vector<std::string>& data_columns();

/// Sets the entry's split, and how many of its rows are read where `value` asks for the first ones:
/// "train[:20%]". Throws BadRequest naming `path` for other parts of a split.
void set_split(DataEntry& entry, const std::string& value, const std::string& path);

/// Parses the value of `data`: a name, or a list or map as YAML writes it in one line:
/// `[a.jsonl, {path: b.jsonl, weight: 2, max_samples: 1000, split: train, columns: {prompt: q}}]`.
/// Throws BadRequest naming `path`, the entry and the key.
[[nodiscard]] std::vector<DataEntry> parse_data(const std::string& value, const std::string& path);

/// Parses a list of names that commas separate: "identity,alpaca_en_demo".
[[nodiscard]] std::vector<DataEntry> parse_data_names(const std::string& value,
                                                      const std::string& path);

/// Throws BadRequest, beginning with `path`, where some of the entries have a weight or share and
/// others have none, or where one has both.
void require_weights(const std::vector<DataEntry>& entries, const std::string& path);

/// Whether the entry is a name without any setting, which RUN.yaml writes as a scalar.
[[nodiscard]] bool is_plain(const DataEntry& entry);

/// Names of the entries, as messages list them: "a.jsonl", or "a.jsonl, b.jsonl".
[[nodiscard]] std::string names_of(const std::vector<DataEntry>& entries);

/// Parses a format by its name. Throws BadRequest naming `path` and the formats.
[[nodiscard]] DataFormat parse_data_format(const std::string& value, const std::string& path);
const char* to_string(DataFormat format);

}  // namespace sluice::planner
