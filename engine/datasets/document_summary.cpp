// The summary of documents.
#include <algorithm>

#include "engine/datasets/document_text.hpp"

namespace sluice::engine {

DataSummary DocumentText::summary(std::int64_t shown_rows) const {
  DataSummary out;
  out.tokenizer = source_.tokens.tokenizer;
  for (std::size_t i = 0; i < source_.sets.size(); ++i) {
    const DocumentRows& rows = source_.sets[i];
    const RowCounts& counts = counts_[i];
    if (rows.format.conversations()) out.chat_template = source_.tokens.chat.name();
    out.sets.push_back({.name = rows.name,
                        .files = rows.files.files,
                        .format = planner::to_string(rows.format.kind),
                        .weight = rows.weight,
                        .rows_read = counts.read,
                        .rows_used = counts.used,
                        .left_out = counts.left_out,
                        .replaced_surrogates = counts.replaced_surrogates});
    const AddRow show = [&](std::span<const LearntToken> tokens, std::vector<ShownPiece> pieces) {
      if (std::ssize(out.first_rows) >= shown_rows) return false;
      out.first_rows.push_back(
          {.pieces = std::move(pieces), .tokens = {tokens.begin(), tokens.end()}});
      return std::ssize(out.first_rows) < shown_rows;
    };
    if (std::ssize(out.first_rows) < shown_rows) {
      DocumentRows beginning = rows;
      beginning.strict = false;
      // Rows that are left out, all of them before the first good one, are not shown.
      const std::int64_t most = shown_rows + counts.read - counts.used;
      beginning.max_samples = std::min(rows.max_samples.value_or(most), most);
      (void)make_documents(beginning, source_.tokens, show, nullptr);
    }
  }
  out.packing = planner::to_string(packing_);
  out.seq_len = seq_len();
  for (std::int64_t i = 0; i < cache_->documents(); ++i) {
    out.lengths.push_back(cache_->start(i + 1) - cache_->start(i));
  }
  out.tokens = std::ssize(cache_->tokens());
  out.learnt_tokens = std::ranges::count_if(cache_->tokens(), is_learnt);
  out.training_sequences = training_windows();
  out.validation_sequences = validation_windows();
  const std::int64_t sequences = training_windows() + validation_windows();
  out.places = sequences * seq_len();
  if (packing_ == planner::Packing::stream) {
    out.used_places = out.places;
    for (std::int64_t window = 0; window < sequences; ++window) {
      out.learnt_places += learnt_within({window_start(window), seq_len()});
    }
  }
  for (const Piece& piece : pieces_) {
    out.used_places += piece.places;
    out.learnt_places += learnt_within(piece);
  }
  out.cut_off = cut_off_;
  out.nothing_within = left_out_;
  return out;
}

}  // namespace sluice::engine
