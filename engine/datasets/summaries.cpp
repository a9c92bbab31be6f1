// Summaries of a text in one file, and of documents.
#include <algorithm>

#include "engine/datasets/document_text.hpp"
#include "engine/datasets/token_text.hpp"

namespace sluice::engine {
namespace {

/// The summary of one text whose tokens are all learnt, from its sizes.
DataSummary summary_of_text(DataSummary summary, const std::filesystem::path& file,
                            const std::filesystem::path& name) {
  DataSetSummary set;
  set.name = name.string();
  set.files = {file};
  set.format = "text";
  set.rows_read = set.rows_used = 1;
  summary.sets.push_back(std::move(set));
  summary.packing = "stream";
  summary.lengths = {summary.tokens};
  summary.learnt_tokens = summary.tokens;
  summary.learnt_places = summary.places;
  return summary;
}

}  // namespace

DataSummary WindowedText::sizes() const {
  DataSummary summary;
  summary.seq_len = seq_len();
  summary.tokens = tokens();
  summary.training_sequences = training_windows();
  summary.validation_sequences = validation_windows();
  summary.places = (training_windows() + validation_windows()) * seq_len();
  summary.used_places = used_places();
  summary.left_out_windows = left_out_windows();
  return summary;
}

DataSummary ByteText::summary(std::int64_t /*shown_rows*/) const {
  return summary_of_text(sizes(), file_, name_);
}

DataSummary TokenText::summary(std::int64_t shown_rows) const {
  DataSummary summary = summary_of_text(sizes(), files_.text, name());
  summary.tokenizer = files_.tokenizer.main_file();
  const std::int64_t windows = std::min(shown_rows, training_windows() + validation_windows());
  for (std::int64_t window = 0; window < windows; ++window) {
    const auto tokens = stream().subspan(static_cast<std::size_t>(window * seq_len()),
                                         static_cast<std::size_t>(seq_len()) + 1);
    summary.first_rows.push_back({.pieces = {}, .tokens = {tokens.begin(), tokens.end()}});
  }
  return summary;
}

DataSummary DocumentText::summary(std::int64_t shown_rows) const {
  DataSummary summary = sizes();
  for (std::size_t i = 0; i < source_.sets.size(); ++i) {
    const DocumentRows& rows = source_.sets[i];
    DataSetSummary set;
    set.name = rows.name;
    set.files = rows.files.files;
    set.format = to_string(rows.format.kind);
    set.weight = rows.weight;
    set.num_samples = rows.num_samples;
    set.rows_read = counts_[i].read;
    set.rows_used = counts_[i].used;
    set.left_out = counts_[i].left_out;
    set.replaced_surrogates = counts_[i].replaced_surrogates;
    summary.sets.push_back(std::move(set));
    if (rows.format.conversations()) summary.chat_template = source_.tokens.chat.name();
    // Every data set shows some of its rows, the first ones one more where they do not divide.
    const std::int64_t others = std::ssize(source_.sets) - static_cast<std::int64_t>(i);
    const std::int64_t more = (shown_rows - std::ssize(summary.first_rows) + others - 1) / others;
    if (more <= 0) continue;
    for (ShownRow& row :
         first_rows(rows, source_.tokens, more, counts_[i].read - counts_[i].used)) {
      row.set = rows.name;
      summary.first_rows.push_back(std::move(row));
    }
  }
  summary.tokenizer = source_.tokens.tokenizer.main_file();
  summary.packing = to_string(packing_);
  for (std::int64_t document = 0; document < cache_->documents(); ++document) {
    summary.lengths.push_back(cache_->start(document + 1) - cache_->start(document));
  }
  summary.learnt_tokens = std::ranges::count_if(cache_->tokens(), is_learnt);
  const std::int64_t windows = training_windows() + validation_windows() + left_out_windows();
  if (packing_ == planner::Packing::stream) {
    for (std::int64_t window = 0; window < windows; ++window) {
      summary.learnt_places += learnt_within(stream_window(window));
    }
  }
  for (const DocumentPiece& piece : layout_.pieces()) {
    summary.learnt_places += learnt_within(piece);
  }
  summary.cut_off = cut_off_;
  summary.nothing_within = left_out_;
  return summary;
}

}  // namespace sluice::engine
