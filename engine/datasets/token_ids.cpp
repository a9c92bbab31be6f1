#include "engine/datasets/token_ids.hpp"

#include <algorithm>
#include <utility>

#include "engine/datasets/learnt_tokens.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using planner::Packing;

/// Whether one of the tokens that are targets, all but the first, is learnt.
bool has_target(std::span<const LearntToken> tokens) {
  return std::ranges::any_of(tokens.subspan(1), is_learnt);
}

Packing settled(Packing packing, const IntegerFiles& ids) {
  if (packing == Packing::automatic) return ids.has_rows() ? Packing::off : Packing::stream;
  if (ids.has_rows() == (packing != Packing::stream)) return packing;
  const std::string given = std::string("packing: ") + to_string(packing);
  throw BadRequest(ids.has_rows()
                       ? given + " joins one row of token ids, and " + ids.names() +
                             " has rows: leave packing out, or save array.reshape(-1)"
                       : given + " needs documents, and " + ids.names() +
                             " is one row of token ids: leave packing out, or give a row for each");
}

}  // namespace

TokenIds::TokenIds(const Files& files, Packing packing, std::int64_t seq_len, std::int64_t seed,
                   const TextProgress& progress)
    : TokenIds(std::vector<Files>{files}, packing, seq_len, seed, progress) {}

TokenIds::TokenIds(const std::vector<Files>& sets, Packing packing, std::int64_t seq_len,
                   std::int64_t seed, const TextProgress& progress)
    : WindowedText(seq_len, seed),
      data_(open_token_ids(sets)),
      packing_(settled(packing, data_.ids)),
      layout_(packing_, seq_len),
      hash_(data_.hash(packing_)),
      rows_(data_, progress),
      window_(seq_len + 1) {
  if (packing_ != Packing::stream) {
    cut_rows();
    return;
  }
  cut(data_.ids.names(), data_.ids.count(), "tokens");
  if (!data_.mask) return;
  leave_out(data_.ids.names(), [this](std::int64_t window) {
    return has_target(read_tokens(window * this->seq_len(), this->seq_len() + 1, window_));
  });
}

std::vector<DocumentPiece> TokenIds::pieces_of(const Row& row) {
  const auto learns = [this](const DocumentPiece& piece) {
    return has_target(read_tokens(piece.first, piece.places + 1, window_));
  };
  std::vector<DocumentPiece> pieces;
  std::int64_t places = row.tokens - 1;
  if (data_.mask) {
    cut_off_ += places > seq_len() ? 1 : 0;
    places = std::min(places, seq_len());
  }
  for (std::int64_t first = row.first; places > 0; first += seq_len(), places -= seq_len()) {
    const DocumentPiece piece{first, std::min(places, seq_len())};
    if (!data_.mask || learns(piece)) pieces.push_back(piece);
  }
  nothing_within_ += pieces.empty() ? 1 : 0;
  return pieces;
}

void TokenIds::cut_rows() {
  std::vector<std::vector<DocumentPiece>> documents;
  for (const Row& row : rows_.rows()) {
    std::vector<DocumentPiece> pieces = pieces_of(row);
    if (!pieces.empty()) documents.push_back(std::move(pieces));
  }
  if (documents.size() < 2) {
    throw BadRequest("data: " + data_.ids.names() + " holds " + std::to_string(documents.size()) +
                     " rows to learn within " + std::to_string(seq_len() + 1) +
                     " tokens, and training with validation needs two: give more, or a larger "
                     "seq_len");
  }
  const std::size_t validation = std::max<std::size_t>(1, documents.size() / 20);
  const std::span all(documents);
  const std::int64_t training = layout_.add(all.first(documents.size() - validation));
  set_windows(training, layout_.add(all.last(validation)), rows_.tokens());
}

TokenIds::Part::Part(std::int64_t most)
    : ids(static_cast<std::size_t>(most)), mask(ids.size(), 1), tokens(ids.size()) {}

std::span<const LearntToken> TokenIds::read_tokens(std::int64_t first, std::int64_t count,
                                                   Part& part) const {
  const auto size = static_cast<std::size_t>(count);
  data_.ids.read(first, std::span(part.ids).first(size));
  if (data_.mask) data_.mask->read(first, std::span(part.mask).first(size));
  for (std::size_t i = 0; i < size; ++i) {
    const auto id = static_cast<LearntToken>(part.ids[i]);
    part.tokens[i] = part.mask[i] != 0 ? id : ~id;
  }
  return std::span(part.tokens).first(size);
}

void TokenIds::read_piece(const DocumentPiece& piece, std::int32_t* inputs, std::int32_t* targets) {
  const std::span<const LearntToken> tokens = read_tokens(piece.first, piece.places + 1, window_);
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    inputs[i] = id_of(tokens[i]);
    targets[i] = is_learnt(tokens[i + 1]) ? tokens[i + 1] : kMaskedTarget;
  }
}

void TokenIds::read_window(std::int64_t window, std::int32_t* inputs, std::int32_t* targets) {
  if (packing_ == Packing::stream) {
    return read_piece({window * seq_len(), seq_len()}, inputs, targets);
  }
  layout_.fill(
      window, inputs, targets,
      [this](const DocumentPiece& piece, std::int32_t* into_inputs, std::int32_t* into_targets) {
        read_piece(piece, into_inputs, into_targets);
      });
}

double TokenIds::unigram_entropy() const {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(vocabulary()));
  data_.for_each_part(
      [&](std::int64_t, std::span<const std::int64_t> ids, std::span<const std::int64_t> learnt) {
        for (std::size_t i = 0; i < ids.size(); ++i) {
          if (ids[i] >= 0 && learnt[i] != 0) ++counts[static_cast<std::size_t>(ids[i])];
        }
      });
  return entropy_of(counts);
}

std::optional<std::string> TokenIds::token_beyond(std::int64_t vocabulary) const {
  std::optional<std::string> found;
  data_.for_each_part([&](std::int64_t first, std::span<const std::int64_t> ids,
                          std::span<const std::int64_t>) {
    if (found) return;
    const auto beyond =
        std::ranges::find_if(ids, [&](std::int64_t id) { return id >= vocabulary; });
    if (beyond == ids.end()) return;
    found = data_.ids.place(first + (beyond - ids.begin())) + ": token " + std::to_string(*beyond);
  });
  return found;
}

std::optional<PackedSequences> TokenIds::if_packed() const {
  return layout_.if_packed(training_windows());
}

std::int64_t TokenIds::used_places() const {
  return packing_ == Packing::stream ? WindowedText::used_places() : layout_.places();
}

std::string TokenIds::description() const {
  std::string text = std::to_string(tokens()) + " token ids of " + data_.ids.names();
  if (data_.mask) {
    text += ", " + std::to_string(rows_.learnt()) + " of them learnt by the mask " +
            data_.mask->names();
  }
  if (left_out_windows() > 0) {
    text += "; " + std::to_string(left_out_windows()) + " windows left out: nothing to learn";
  }
  if (packing_ == Packing::stream) return text;
  text += "; " + std::to_string(rows_.rows().size()) + " rows in " +
          std::to_string(layout_.sequences()) + " sequences, " + padding_text(*this);
  if (cut_off_ > 0) text += "; " + std::to_string(cut_off_) + " cut off at seq_len";
  const std::int64_t left_out = rows_.empty_rows() + nothing_within_;
  if (left_out > 0) {
    text += "; " + std::to_string(left_out) + " left out: nothing to learn within seq_len";
  }
  return text;
}

std::vector<LearntToken> TokenIds::shown_tokens(std::int64_t row) const {
  const auto [first, tokens] = packing_ == Packing::stream
                                   ? Row{row * seq_len(), seq_len() + 1}
                                   : rows_.rows()[static_cast<std::size_t>(row)];
  Part part(tokens);
  (void)read_tokens(first, tokens, part);
  return part.tokens;
}

std::int64_t TokenIds::learnt_places() const {
  const std::int64_t windows = training_windows() + validation_windows() + left_out_windows();
  const bool stream = packing_ == Packing::stream;
  if (!data_.mask) return stream ? windows * seq_len() : layout_.places();
  const std::vector<DocumentPiece> all = {{0, windows * seq_len()}};
  std::int64_t learnt = 0;
  std::vector<std::int64_t> mask(kTokenIdsAtOnce);
  for (const DocumentPiece& piece : stream ? std::span(all) : layout_.pieces()) {
    for (std::int64_t at = 0; at < piece.places; at += kTokenIdsAtOnce) {
      const auto here = std::span(mask).first(
          static_cast<std::size_t>(std::min(kTokenIdsAtOnce, piece.places - at)));
      data_.mask->read(piece.first + 1 + at, here);
      learnt += std::ranges::count(here, 1);
    }
  }
  return learnt;
}

std::optional<LeftOutRows> TokenIds::rows_left_out() const {
  if (rows_.empty_rows() == 0) return std::nullopt;
  return LeftOutRows{"holds no token", rows_.empty_rows(), rows_.first_empty_row()};
}

DataSummary TokenIds::summary(std::int64_t shown_rows) const {
  DataSummary summary = sizes();
  DataSetSummary set;
  set.name = data_.ids.names();
  set.format = "tokens";
  for (const IntegerFile& file : data_.ids.files()) set.files.push_back(file.path());
  if (data_.mask) {
    for (const IntegerFile& file : data_.mask->files()) set.files.push_back(file.path());
  }
  set.rows_read = std::ssize(rows_.rows()) + rows_.empty_rows();
  set.rows_used = std::ssize(rows_.rows()) - nothing_within_;
  if (const auto empty = rows_left_out()) set.left_out.push_back(*empty);
  summary.sets.push_back(std::move(set));
  summary.packing = planner::to_string(packing_);
  for (const Row& row : rows_.rows()) summary.lengths.push_back(row.tokens);
  summary.learnt_tokens = rows_.learnt();
  summary.learnt_places = learnt_places();
  summary.cut_off = cut_off_;
  summary.nothing_within = nothing_within_;
  const std::int64_t sequences = training_windows() + validation_windows();
  const std::int64_t rows = packing_ == Packing::stream ? sequences : std::ssize(rows_.rows());
  for (std::int64_t row = 0; row < std::min(rows, shown_rows); ++row) {
    summary.first_rows.push_back({.pieces = {}, .tokens = shown_tokens(row)});
  }
  return summary;
}

}  // namespace sluice::engine
