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

/// Rows that are left out of the data for one reason.
struct LeftOutRows {
  std::string reason;  ///< Field and fault, such as "output is empty".
  std::int64_t rows = 0;
  std::string first;  ///< Place of the first one, "FILE:LINE".
};

/// One data set of a run, as it was read.
struct DataSetSummary {
  std::string name;                          ///< The file, folder, glob, hub id or registered name.
  std::vector<std::filesystem::path> files;  ///< Files in the order in which they are read.
  std::string format;  ///< "messages", "alpaca", "prompt_completion", "jsonl", "text", ...
  double weight = 1;   ///< Number of times that its rows are read in an epoch.
  std::int64_t rows_read = 0;
  std::int64_t rows_used = 0;  ///< Rows that became documents, each counted once.
  std::vector<LeftOutRows> left_out;
  /// Lone surrogates ("\ud83d" without its other half) that were read as U+FFFD.
  std::int64_t replaced_surrogates = 0;
};

/// A part of a row's text, and whether it is learnt.
struct ShownPiece {
  std::string text;
  bool learnt = false;
};

/// A row as it is trained.
struct ShownRow {
  std::vector<ShownPiece> pieces;   ///< The text that is cut into tokens.
  std::vector<LearntToken> tokens;  ///< All tokens of the document, each learnt or only read.
};

/// Everything about a run's data that can be shown before it is trained.
struct DataSummary {
  std::vector<DataSetSummary> sets;
  std::filesystem::path tokenizer;  ///< The tokenizer's file; empty where bytes are tokens.
  std::optional<std::string> chat_template;  ///< Name and place of the template, for conversations.
  std::string packing;                       ///< "stream", "documents" or "off".
  std::int64_t seq_len = 0;
  /// Tokens of each document in the order of training, repeats included; one for a single text.
  std::vector<std::int64_t> lengths;
  std::int64_t tokens = 0;         ///< Sum of `lengths`.
  std::int64_t learnt_tokens = 0;  ///< Tokens that are learnt, among `tokens`.
  std::int64_t training_sequences = 0, validation_sequences = 0;
  std::int64_t places = 0;         ///< Places of all sequences: sequences times seq_len.
  std::int64_t used_places = 0;    ///< Places that hold a token; the rest is padding.
  std::int64_t learnt_places = 0;  ///< Places whose target is learnt.
  std::int64_t cut_off = 0;        ///< Conversations that are cut off at seq_len.
  /// Conversations left out because nothing to learn lies within seq_len.
  std::int64_t nothing_within = 0;
  std::vector<ShownRow> first_rows;
};

}  // namespace sluice::engine
