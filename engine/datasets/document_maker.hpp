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

/// Tokenizer, template and end of text by which text becomes tokens, the same for all data sets of
/// a run.
struct DocumentTokens {
  TokenizerFolder tokenizer;
  ChatTemplate chat = {};  ///< Template for conversations, if any set has them.
  /// Token appended to each text and completion whose tokens do not already end with it.
  std::optional<std::string> end_of_text = std::nullopt;
};

/// SHA-256 of everything that the documents of a data set depend on.
struct DocumentHashes {
  std::string now;
  /// Hash that Sluice 0.1.0 had for a chat template that it knew; none for other documents.
  std::optional<std::string> of_0_1_0 = std::nullopt;
};

/// One data set: its files, what their rows mean, and how many of them are read.
struct DocumentRows {
  std::string name;  ///< As the run names it.
  DataFiles files;
  ExampleFormat format;
  std::optional<std::int64_t> max_samples = std::nullopt;  ///< Rows that are read at most.
  double weight = 1;  ///< Number of times that its rows are read in a pass.
  std::optional<std::int64_t> num_samples = std::nullopt;  ///< Rows that a pass reads, if stated.
  bool strict = false;

  /// Hashes of its documents. Reads all files, and those of the tokenizer.
  [[nodiscard]] DocumentHashes hashes(const DocumentTokens& tokens) const;
};

/// Numbers of rows of one data set that were read, used and left out.
struct RowCounts {
  std::int64_t read = 0;
  std::int64_t used = 0;
  std::int64_t replaced_surrogates = 0;
  std::vector<LeftOutRows> left_out;

  /// The counts as one line of JSON that ends with a line feed, and back.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] static RowCounts of_text(std::string_view text);
};

/// Reads the rows and passes on the tokens of each, in order. `progress` gets bytes of all files.
/// Throws BadRequest if the data are refused (BadRows), EnvironmentError if they cannot be read
/// here.
RowCounts make_documents(const DocumentRows& rows, const DocumentTokens& tokens,
                         const DocumentCache::AddDocument& add, const TextProgress& progress);

/// The first `most` rows of the data set that are used, as they are rendered and tokenised.
/// `left_out`: rows of the set that are left out, which may stand before them.
[[nodiscard]] std::vector<ShownRow> first_rows(const DocumentRows& rows,
                                               const DocumentTokens& tokens, std::int64_t most,
                                               std::int64_t left_out);

}  // namespace sluice::engine
