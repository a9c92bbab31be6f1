// Makes documents of tokens from the rows of a data set.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/chat/chat_template.hpp"
#include "engine/datasets/bad_rows.hpp"
#include "engine/datasets/document_cache.hpp"
#include "engine/datasets/learnt_tokens.hpp"
#include "engine/examples/example_format.hpp"
#include "engine/rows/data_files.hpp"
#include "engine/tokenizer/tokenizer_folder.hpp"

namespace sluice::engine {

/// What turns the text of rows into tokens, the same for all data sets of a run: tokenizer, chat
/// template, and the token at the end of texts.
struct DocumentTokens {
  TokenizerFolder tokenizer;
  /// Template for conversations; a handle to none if no data set has them.
  ChatTemplate chat = {};
  /// Text of the token that is appended to each text and completion whose tokens do not already end
  /// with it; none to append nothing.
  std::optional<std::string> end_of_text = std::nullopt;
};

/// Hashes by which the documents of a data set are recognised: SHA-256 of everything that their
/// tokens depend on.
struct DocumentHashes {
  std::string now;
  /// Hash that Sluice 0.1.0 gave the same documents, where it described their chat template in
  /// other words; none for other documents.
  std::optional<std::string> of_0_1_0 = std::nullopt;
};

/// One data set of a run: its files, what the fields of their rows mean, and how many rows are
/// read.
struct DocumentRows {
  std::string name;  ///< The data set as the run names it.
  DataFiles files;
  ExampleFormat format;
  /// Largest number of rows that are read.
  std::optional<std::int64_t> max_samples = std::nullopt;
  double weight = 1;  ///< Number of times that its rows are read in a pass over the data.
  double share = 1;   ///< Share of a mixture's rows that are this set's, relative to the others'.
  /// Number of rows that a pass over the data reads (times `weight`), repeated or thinned, if
  /// dataset_info.json states it.
  std::optional<std::int64_t> num_samples = std::nullopt;
  bool strict = false;
  planner::DataReading reading = planner::DataReading::present;

  /// Hashes of the documents that `tokens` makes of these rows. Reads all files, and those of the
  /// tokenizer.
  [[nodiscard]] DocumentHashes hashes(const DocumentTokens& tokens) const;
};

/// Numbers of rows of one data set that were read, used (made into documents) and left out.
struct RowCounts {
  std::int64_t read = 0;
  std::int64_t used = 0;
  std::int64_t replaced_surrogates = 0;
  std::vector<LeftOutRows> left_out;
  /// Optional columns that the run names and no row has, by what they hold (UnseenColumns).
  std::vector<std::string> unseen_columns = {};
  /// Rows that are learnt and may be meant otherwise.
  std::vector<LeftOutRows> doubtful = {};

  /// The counts as one line of JSON that ends with a line feed (text), and the counts that such a
  /// line holds (of_text).
  [[nodiscard]] std::string text() const;
  [[nodiscard]] static RowCounts of_text(std::string_view text);
};

/// Reads the rows of a data set and passes the tokens of each document to `add`, in order.
/// `progress` is told how many bytes of all files are done. Throws BadRequest if the data are
/// refused (BadRows), EnvironmentError if they cannot be read here.
RowCounts make_documents(const DocumentRows& rows, const DocumentTokens& tokens,
                         const DocumentCache::AddDocument& add, const TextProgress& progress);

/// The first `most` rows of the data set that are used, with their texts and tokens. `left_out`:
/// number of the set's rows that are left out, which may stand before them.
[[nodiscard]] std::vector<ShownRow> first_rows(const DocumentRows& rows,
                                               const DocumentTokens& tokens, std::int64_t most,
                                               std::int64_t left_out);

}  // namespace sluice::engine
