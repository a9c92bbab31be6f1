#include "engine/datasets/token_id_rows.hpp"

#include <algorithm>

#include "engine/datasets/halved_ids.hpp"
#include "engine/datasets/token_source.hpp"
#include "sim/error.hpp"
#include "sim/warning.hpp"

namespace sluice::engine {
namespace {

/// Ids from here on are refused: no vocabulary is so large, and counts are kept for each id.
constexpr std::int64_t kMostIds = std::int64_t{1} << 24;

/// Whether a value stands for padding: -1, or -100 as in transformers' labels.
bool is_padding(std::int64_t id) { return id == kPaddingTarget || id == kMaskedTarget; }

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

}  // namespace

TokenIdRows::TokenIdRows(const TokenIdData& data, const TextProgress& progress) : data_(data) {
  std::size_t file = 0;
  HalvedIds halved;
  const auto end_file = [&] {
    warn_of_halves(data_.ids.files()[file], halved);
    halved = {};
  };
  data_.for_each_part([&](std::int64_t first, std::span<const std::int64_t> ids,
                          std::span<const std::int64_t> learnt) {
    for (; first >= data_.ids.start(file + 1); ++file) end_file();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const std::int64_t index = first + static_cast<std::int64_t>(i);
      add_to_rows(file, index, {.id = ids[i], .learnt = learnt[i] != 0});
      if (learnt[i] != 0 && learnt[i] != 1) refuse_mask(index, learnt[i]);
      if (ids[i] < 0) continue;
      learnt_ += learnt[i];
      vocabulary_ = std::max(vocabulary_, ids[i] + 1);
    }
    halved.add(ids);
    if (progress) progress(first + std::ssize(ids), data_.ids.count());
  });
  end_file();
  warn_of_padding();
}

void TokenIdRows::refuse_mask(std::int64_t index, std::int64_t value) const {
  throw BadRequest("data_mask: " + data_.mask->place(index) + ": " + std::to_string(value) +
                   " is neither 0 (only read) nor 1 (learnt)" +
                   (value == kMaskedTarget || value > 1
                        ? ": of labels, where -100 is not learnt, save labels != -100"
                        : ""));
}

void TokenIdRows::warn_of_padding() const {
  const auto repeated = data_.ids.has_rows() ? ends_.told(tokens()) : std::nullopt;
  if (!repeated) return;
  sim::warn("data: " + data_.ids.names() + ": " + *repeated +
            ", which is learnt: if that is padding, write -1 there, behind the row's tokens, or "
            "leave it out by a mask");
}

void TokenIdRows::add_to_rows(std::size_t file, std::int64_t index, const Value& value) {
  const auto [id, learnt] = value;
  // Files of one row each are one stream, which is a single row.
  const bool rows = data_.ids.has_rows();
  const std::int64_t columns = rows ? data_.ids.files()[file].columns() : data_.ids.count();
  const std::int64_t column = rows ? (index - data_.ids.start(file)) % columns : index;
  if (column == 0) rows_.push_back({index, 0});
  Row& row = rows_.back();
  const std::int64_t before = row.first + row.tokens;  // Where the row's tokens end so far.
  const auto refuse = [&](const std::string& reason) {
    throw BadRequest("data: " + data_.ids.place(index) + ": " + reason);
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

std::int64_t TokenIdRows::tokens() const {
  std::int64_t tokens = 0;
  for (const Row& row : rows_) tokens += row.tokens;
  return tokens;
}

std::string TokenIdRows::first_empty_row() const {
  return empty_rows_ == 0 ? std::string() : data_.ids.place(first_empty_row_);
}

}  // namespace sluice::engine
