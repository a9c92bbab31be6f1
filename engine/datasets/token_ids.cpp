#include "engine/datasets/token_ids.hpp"

#include <algorithm>
#include <utility>

#include "engine/datasets/halved_ids.hpp"
#include "engine/datasets/learnt_tokens.hpp"
#include "engine/datasets/token_file.hpp"
#include "engine/model_files/written_file.hpp"
#include "planner/files/hash.hpp"
#include "planner/runs/data_file.hpp"
#include "sim/error.hpp"
#include "sim/warning.hpp"

namespace sluice::engine {
namespace {

using planner::Packing;
using std::filesystem::path;

/// Version of how ids become sequences: to be increased whenever equal files would give others.
constexpr std::int64_t kTokenIdsVersion = 1;
/// Number of values that are read at a time.
constexpr std::int64_t kPart = std::int64_t{1} << 16;
/// Ids from here on are refused: no vocabulary is so large, and counts are kept for each id.
constexpr std::int64_t kMostIds = std::int64_t{1} << 24;

/// Whether a value stands for padding: -1, or -100 as in transformers' labels.
bool is_padding(std::int64_t id) { return id == kPaddingTarget || id == kMaskedTarget; }

/// Whether one of the tokens that are targets, all but the first, is learnt.
bool has_target(std::span<const LearntToken> tokens) {
  return std::ranges::any_of(tokens.subspan(1), is_learnt);
}

IntegerFile open_ids(const path& file, IntegerType raw_type) {
  planner::require_data_file(file);
  if (!std::filesystem::is_regular_file(file)) {
    throw BadRequest("data: there is no file " + file.string() +
                     " (give the path of a .npy or .bin file of token ids)");
  }
  IntegerFile ids = open_token_file(file, raw_type, "data");
  if (!ids.holds_booleans()) return ids;
  throw BadRequest("data: " + file.string() +
                   ": holds booleans, as a mask does: give it as data_mask, and the ids as data");
}

IntegerFiles open_ids(std::span<const TokenIds::Files> sets) {
  std::vector<IntegerFile> all;
  for (const TokenIds::Files& set : sets) {
    std::vector<path> files = {set.ids};
    files.insert(files.end(), set.further.begin(), set.further.end());
    std::int64_t rows = set.max_rows.value_or(0);
    for (const path& file : files) {
      IntegerFile ids = open_ids(file, set.raw_type);
      if (set.max_rows) {
        if (!ids.has_rows()) {
          throw BadRequest("max_samples: counts rows, and " + file.string() +
                           " is one row of token ids: leave it out, or give a row for each");
        }
        ids.keep_rows(rows);
        rows -= ids.rows();
      }
      // Files behind the last row of a set are not read.
      if (!set.max_rows || ids.rows() > 0 || file == files.front()) all.push_back(std::move(ids));
    }
  }
  return IntegerFiles(std::move(all));
}

/// The mask of one file of ids: `given`, else the one beside it, if there is one.
std::optional<IntegerFile> open_mask(const std::optional<path>& given, const IntegerFile& ids) {
  path file = ids.path();
  file.replace_extension(".mask.npy");
  if (given) {
    file = *given;
    if (!std::filesystem::is_regular_file(file)) {
      throw BadRequest("data_mask: there is no file " + file.string());
    }
  } else if (!std::filesystem::is_regular_file(file)) {
    return std::nullopt;
  }
  IntegerFile mask = open_token_file(file, IntegerType::uint8, "data_mask");
  const auto shape = [](const IntegerFile& of, std::int64_t rows) {
    return of.has_rows() ? std::to_string(rows) + " x " + std::to_string(of.columns())
                         : std::to_string(of.columns());
  };
  if (mask.all_rows() != ids.all_rows() || mask.columns() != ids.columns()) {
    throw BadRequest("data_mask: " + file.string() + " has " + shape(mask, mask.all_rows()) +
                     " values, and " + ids.path().string() + " " + shape(ids, ids.all_rows()) +
                     ": give one for each token id");
  }
  mask.keep_rows(ids.rows());
  return mask;
}

std::optional<IntegerFiles> open_masks(std::span<const TokenIds::Files> sets,
                                       const IntegerFiles& ids) {
  const std::optional<path>& given = sets.front().mask;
  if (given && ids.files().size() > 1) {
    throw BadRequest("data_mask: is the mask of one file, and the data are " + ids.names() +
                     ": put X.mask.npy beside each X.npy, and leave data_mask out");
  }
  std::vector<IntegerFile> masks;
  const IntegerFile* without = nullptr;
  for (const IntegerFile& file : ids.files()) {
    if (auto mask = open_mask(given, file)) {
      masks.push_back(std::move(*mask));
    } else {
      without = &file;
    }
  }
  if (masks.empty()) return std::nullopt;
  if (without == nullptr) return IntegerFiles(std::move(masks));
  throw BadRequest("data_mask: " + masks.front().path().string() + " is a mask, and " +
                   without->path().string() + " has none beside it: give every file one, or none");
}

/// Warns of a file without a header whose ids look like halves of wider ones.
void warn_of_halves(const IntegerFile& file, const HalvedIds& halved) {
  if (file.layout() != to_string(file.type()) || !halved.found()) return;
  const bool narrow = file.type() == IntegerType::uint16;
  const std::int64_t largest = halved.largest_second();
  sim::warn("data: " + file.path().string() + ": every second id is " +
            (largest == 0 ? "0" : "at most " + std::to_string(largest)) + ", as where ids of " +
            (narrow ? "32" : "64") + " bits are read as " + file.layout() + ": if they are, " +
            (narrow ? "state data_dtype=uint32" : "save them as a .npy file"));
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

std::string hash_of(const IntegerFiles& ids, const std::optional<IntegerFiles>& masks,
                    Packing packing) {
  planner::CanonicalText text("sluice/token-ids");
  text.add("version", kTokenIdsVersion);
  for (std::size_t i = 0; i < ids.files().size(); ++i) {
    const IntegerFile& file = ids.files()[i];
    text.add("ids", read_record(file.path()).sha256)
        .add("type", file.layout())
        .add("mask", masks ? read_record(masks->files()[i].path()).sha256 : "");
    if (file.rows() < file.all_rows()) text.add("rows", file.rows());
  }
  return text.add("packing", planner::to_string(packing)).hash();
}

}  // namespace

TokenIds::TokenIds(const Files& files, Packing packing, std::int64_t seq_len, std::int64_t seed,
                   const TextProgress& progress)
    : TokenIds(std::vector<Files>{files}, packing, seq_len, seed, progress) {}

TokenIds::TokenIds(const std::vector<Files>& sets, Packing packing, std::int64_t seq_len,
                   std::int64_t seed, const TextProgress& progress)
    : WindowedText(seq_len, seed),
      ids_(open_ids(sets)),
      mask_(open_masks(sets, ids_)),
      packing_(settled(packing, ids_)),
      layout_(packing_, seq_len),
      hash_(hash_of(ids_, mask_, packing_)),
      window_(seq_len + 1) {
  scan(progress);
  if (packing_ != Packing::stream) {
    cut_rows();
    return;
  }
  cut(ids_.names(), ids_.count(), "tokens");
  if (!mask_) return;
  leave_out(ids_.names(), [this](std::int64_t window) {
    return has_target(read_tokens(window * this->seq_len(), this->seq_len() + 1, window_));
  });
}

template <class Visit>
void TokenIds::for_each_part(const Visit& visit) const {
  std::vector<std::int64_t> ids(kPart), learnt(kPart, 1);
  for (std::size_t file = 0; file < ids_.files().size(); ++file) {
    const std::int64_t end = ids_.start(file + 1);
    for (std::int64_t first = ids_.start(file); first < end; first += kPart) {
      const auto count = static_cast<std::size_t>(std::min(kPart, end - first));
      const std::span ids_here = std::span(ids).first(count);
      const std::span learnt_here = std::span(learnt).first(count);
      ids_.read(first, ids_here);
      if (mask_) mask_->read(first, learnt_here);
      visit(first, ids_here, learnt_here);
    }
  }
}

void TokenIds::scan(const TextProgress& progress) {
  std::size_t file = 0;
  HalvedIds halved;
  const auto end_file = [&] {
    warn_of_halves(ids_.files()[file], halved);
    halved = {};
  };
  for_each_part([&](std::int64_t first, std::span<const std::int64_t> ids,
                    std::span<const std::int64_t> learnt) {
    for (; first >= ids_.start(file + 1); ++file) end_file();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const std::int64_t index = first + static_cast<std::int64_t>(i);
      add_to_rows(file, index, {.id = ids[i], .learnt = learnt[i] != 0});
      if (learnt[i] != 0 && learnt[i] != 1) refuse_mask(index, learnt[i]);
      if (ids[i] < 0) continue;
      learnt_ += learnt[i];
      vocabulary_ = std::max(vocabulary_, ids[i] + 1);
    }
    halved.add(ids);
    if (progress) progress(first + std::ssize(ids), ids_.count());
  });
  end_file();
  warn_of_padding();
}

void TokenIds::refuse_mask(std::int64_t index, std::int64_t value) const {
  throw BadRequest("data_mask: " + mask_->place(index) + ": " + std::to_string(value) +
                   " is neither 0 (only read) nor 1 (learnt)" +
                   (value == kMaskedTarget || value > 1
                        ? ": of labels, where -100 is not learnt, save labels != -100"
                        : ""));
}

void TokenIds::warn_of_padding() const {
  std::int64_t tokens = 0;
  for (const Row& row : rows_) tokens += row.tokens;
  const auto repeated = ids_.has_rows() ? ends_.told(tokens) : std::nullopt;
  if (!repeated) return;
  sim::warn("data: " + ids_.names() + ": " + *repeated +
            ", which is learnt: if that is padding, write -1 there, behind the row's tokens, or "
            "leave it out by a mask");
}

void TokenIds::add_to_rows(std::size_t file, std::int64_t index, const Value& value) {
  const auto [id, learnt] = value;
  // Files of one row each are one stream, which is a single row.
  const bool rows = ids_.has_rows();
  const std::int64_t columns = rows ? ids_.files()[file].columns() : ids_.count();
  const std::int64_t column = rows ? (index - ids_.start(file)) % columns : index;
  if (column == 0) rows_.push_back({index, 0});
  Row& row = rows_.back();
  const std::int64_t before = row.first + row.tokens;  // Where the row's tokens end so far.
  const auto refuse = [&](const std::string& reason) {
    throw BadRequest("data: " + ids_.place(index) + ": " + reason);
  };
  if (id >= kMostIds) refuse("token " + std::to_string(id) + " is beyond any vocabulary");
  if (id >= 0) {
    if (before != index) refuse("a token behind padding: padding belongs at the end of a row");
    ++row.tokens;
  } else if (!rows || !is_padding(id)) {
    refuse(std::to_string(id) +
           (rows ? " is no token id; padding behind a row is -1 or -100" : " is no token id"));
  }
  if (!rows) return;
  if (id < 0) {
    ends_.add_padding();
  } else {
    ends_.add(id, learnt);
  }
  if (column + 1 < columns) return;
  ends_.end_row();
  if (row.tokens > 0) return;
  if (empty_rows_++ == 0) first_empty_row_ = row.first;
  rows_.pop_back();
}

std::vector<DocumentPiece> TokenIds::pieces_of(const Row& row) {
  const auto learns = [this](const DocumentPiece& piece) {
    return has_target(read_tokens(piece.first, piece.places + 1, window_));
  };
  std::vector<DocumentPiece> pieces;
  std::int64_t places = row.tokens - 1;
  if (mask_) {
    cut_off_ += places > seq_len() ? 1 : 0;
    places = std::min(places, seq_len());
  }
  for (std::int64_t first = row.first; places > 0; first += seq_len(), places -= seq_len()) {
    const DocumentPiece piece{first, std::min(places, seq_len())};
    if (!mask_ || learns(piece)) pieces.push_back(piece);
  }
  nothing_within_ += pieces.empty() ? 1 : 0;
  return pieces;
}

void TokenIds::cut_rows() {
  std::vector<std::vector<DocumentPiece>> documents;
  for (const Row& row : rows_) {
    std::vector<DocumentPiece> pieces = pieces_of(row);
    if (!pieces.empty()) documents.push_back(std::move(pieces));
  }
  if (documents.size() < 2) {
    throw BadRequest("data: " + ids_.names() + " holds " + std::to_string(documents.size()) +
                     " rows to learn within " + std::to_string(seq_len() + 1) +
                     " tokens, and training with validation needs two: give more, or a larger "
                     "seq_len");
  }
  const std::size_t validation = std::max<std::size_t>(1, documents.size() / 20);
  const std::span all(documents);
  const std::int64_t training = layout_.add(all.first(documents.size() - validation));
  std::int64_t tokens = 0;
  for (const Row& row : rows_) tokens += row.tokens;
  set_windows(training, layout_.add(all.last(validation)), tokens);
}

TokenIds::Part::Part(std::int64_t most)
    : ids(static_cast<std::size_t>(most)), mask(ids.size(), 1), tokens(ids.size()) {}

std::span<const LearntToken> TokenIds::read_tokens(std::int64_t first, std::int64_t count,
                                                   Part& part) const {
  const auto size = static_cast<std::size_t>(count);
  ids_.read(first, std::span(part.ids).first(size));
  if (mask_) mask_->read(first, std::span(part.mask).first(size));
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
  std::vector<std::int64_t> counts(static_cast<std::size_t>(vocabulary_));
  for_each_part(
      [&](std::int64_t, std::span<const std::int64_t> ids, std::span<const std::int64_t> learnt) {
        for (std::size_t i = 0; i < ids.size(); ++i) {
          if (ids[i] >= 0 && learnt[i] != 0) ++counts[static_cast<std::size_t>(ids[i])];
        }
      });
  return entropy_of(counts);
}

std::optional<std::string> TokenIds::token_beyond(std::int64_t vocabulary) const {
  std::optional<std::string> found;
  for_each_part(
      [&](std::int64_t first, std::span<const std::int64_t> ids, std::span<const std::int64_t>) {
        if (found) return;
        const auto beyond =
            std::ranges::find_if(ids, [&](std::int64_t id) { return id >= vocabulary; });
        if (beyond == ids.end()) return;
        found = ids_.place(first + (beyond - ids.begin())) + ": token " + std::to_string(*beyond);
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
  std::string text = std::to_string(tokens()) + " token ids of " + ids_.names();
  if (mask_) {
    text += ", " + std::to_string(learnt_) + " of them learnt by the mask " + mask_->names();
  }
  if (left_out_windows() > 0) {
    text += "; " + std::to_string(left_out_windows()) + " windows left out: nothing to learn";
  }
  if (packing_ == Packing::stream) return text;
  text += "; " + std::to_string(rows_.size()) + " rows in " + std::to_string(layout_.sequences()) +
          " sequences, " + padding_text(*this);
  if (cut_off_ > 0) text += "; " + std::to_string(cut_off_) + " cut off at seq_len";
  const std::int64_t left_out = empty_rows_ + nothing_within_;
  if (left_out > 0) {
    text += "; " + std::to_string(left_out) + " left out: nothing to learn within seq_len";
  }
  return text;
}

std::vector<LearntToken> TokenIds::shown_tokens(std::int64_t row) const {
  const auto [first, tokens] = packing_ == Packing::stream ? Row{row * seq_len(), seq_len() + 1}
                                                           : rows_[static_cast<std::size_t>(row)];
  Part part(tokens);
  (void)read_tokens(first, tokens, part);
  return part.tokens;
}

std::int64_t TokenIds::learnt_places() const {
  const std::int64_t windows = training_windows() + validation_windows() + left_out_windows();
  const bool stream = packing_ == Packing::stream;
  if (!mask_) return stream ? windows * seq_len() : layout_.places();
  const std::vector<DocumentPiece> all = {{0, windows * seq_len()}};
  std::int64_t learnt = 0;
  std::vector<std::int64_t> mask(kPart);
  for (const DocumentPiece& piece : stream ? std::span(all) : layout_.pieces()) {
    for (std::int64_t at = 0; at < piece.places; at += kPart) {
      const auto here =
          std::span(mask).first(static_cast<std::size_t>(std::min(kPart, piece.places - at)));
      mask_->read(piece.first + 1 + at, here);
      learnt += std::ranges::count(here, 1);
    }
  }
  return learnt;
}

std::optional<LeftOutRows> TokenIds::rows_left_out() const {
  if (empty_rows_ == 0) return std::nullopt;
  return LeftOutRows{"holds no token", empty_rows_, ids_.place(first_empty_row_)};
}

DataSummary TokenIds::summary(std::int64_t shown_rows) const {
  DataSummary summary = sizes();
  DataSetSummary set;
  set.name = ids_.names();
  set.format = "tokens";
  for (const IntegerFile& file : ids_.files()) set.files.push_back(file.path());
  if (mask_) {
    for (const IntegerFile& file : mask_->files()) set.files.push_back(file.path());
  }
  set.rows_read = std::ssize(rows_) + empty_rows_;
  set.rows_used = std::ssize(rows_) - nothing_within_;
  if (const auto empty = rows_left_out()) set.left_out.push_back(*empty);
  summary.sets.push_back(std::move(set));
  summary.packing = planner::to_string(packing_);
  for (const Row& row : rows_) summary.lengths.push_back(row.tokens);
  summary.learnt_tokens = learnt_;
  summary.learnt_places = learnt_places();
  summary.cut_off = cut_off_;
  summary.nothing_within = nothing_within_;
  const std::int64_t sequences = training_windows() + validation_windows();
  const std::int64_t rows = packing_ == Packing::stream ? sequences : std::ssize(rows_);
  for (std::int64_t row = 0; row < std::min(rows, shown_rows); ++row) {
    summary.first_rows.push_back({.pieces = {}, .tokens = shown_tokens(row)});
  }
  return summary;
}

}  // namespace sluice::engine
