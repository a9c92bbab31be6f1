// Summary of a run's data: what is read, learnt and left out, and the first rows as they are
// trained.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/datasets/learnt_tokens.hpp"

namespace sluice::engine {

/// Number of rows that are left out of the data for one reason.
struct LeftOutRows {
  std::string reason;  ///< Field and fault, such as "output is empty".
  std::int64_t rows = 0;
  std::string first;  ///< Place of the first such row, "FILE:LINE".
};

/// What was read of one data set of a run.
struct DataSetSummary {
  /// The data set as the run names it: a file, folder, glob, id of the hub or registered name.
  std::string name;
  std::vector<std::filesystem::path> files;  ///< Files in the order in which they are read.
  /// Kind of data: "messages", "alpaca", "prompt_completion", "jsonl", "text", ...
  std::string format;
  double weight = 1;  ///< Number of times that its rows are read in an epoch.
  /// Number of rows that an epoch reads of those used (times `weight`), repeated or thinned, where
  /// a dataset_info.json states it.
  std::optional<std::int64_t> num_samples = {};
  std::int64_t rows_read = 0;
  std::int64_t rows_used = 0;  ///< Number of rows that became documents, each counted once.
  std::vector<LeftOutRows> left_out;
  /// Number of lone surrogates ("\ud83d" without its other half) that were read as U+FFFD.
  std::int64_t replaced_surrogates = 0;
};

/// A part of a row's text that is shown, and whether it is learnt or only read.
struct ShownPiece {
  std::string text;
  bool learnt = false;
};

/// A row of the data as it is trained, to be shown to people.
struct ShownRow {
  std::string set = {};  ///< The data set that the row is of; empty where there is only one text.
  /// The row's text that is cut into tokens; empty where the data are tokens already.
  std::vector<ShownPiece> pieces;
  std::vector<LearntToken> tokens;  ///< All tokens of the row's document, each learnt or only read.
};

/// Everything about a run's data that can be shown before it is trained.
struct DataSummary {
  std::vector<DataSetSummary> sets;
  std::filesystem::path tokenizer;  ///< The tokenizer's file; empty where bytes are tokens.
  /// Name and place of the chat template; none without conversations.
  std::optional<std::string> chat_template;
  /// How documents lie in sequences: joined ("stream"), several in each ("documents") or one
  /// ("off").
  std::string packing;
  std::int64_t seq_len = 0;
  /// Number of tokens of each document in the order of training, repeats included; one number for a
  /// single text.
  std::vector<std::int64_t> lengths;
  std::int64_t tokens = 0;         ///< Number of all tokens, the sum of `lengths`.
  std::int64_t learnt_tokens = 0;  ///< Number of tokens that are learnt.
  std::int64_t training_sequences = 0, validation_sequences = 0;
  std::int64_t places = 0;       ///< Places for a token in all sequences: sequences times seq_len.
  std::int64_t used_places = 0;  ///< Number of places that hold a token; the rest is padding.
  /// Number of places whose target, the token that follows, is learnt.
  std::int64_t learnt_places = 0;
  std::int64_t cut_off = 0;  ///< Number of documents that are cut off at seq_len.
  /// Number of documents left out because nothing to learn lies within seq_len.
  std::int64_t nothing_within = 0;
  /// Number of windows of one stream left out because nothing in them is learnt.
  std::int64_t left_out_windows = 0;
  std::vector<ShownRow> first_rows;
};

}  // namespace sluice::engine
