// The rows of token ids: what each holds without its padding, found by reading all of them once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/datasets/repeated_ends.hpp"
#include "engine/datasets/token_id_files.hpp"
#include "engine/tokenizer/tokenizer.hpp"

namespace sluice::engine {

class TokenIdRows {
 public:
  /// What one row holds: tokens `first` to first + tokens - 1 of the files, padding left out.
  struct Row {
    std::int64_t first, tokens;
  };

  /// Reads all ids and the mask of `data`, which must outlive this; `progress` is called meanwhile.
  /// Warns where every second id of a file is next to nothing, as in ids of twice the size, and
  /// where rows begin or end in one learnt id, repeated, as padding by a token leaves them. Throws
  /// BadRequest for a value that is no token id (or in the mask neither 0 nor 1), with its place.
  TokenIdRows(const TokenIdData& data, const TextProgress& progress);

  /// Rows that hold any token; a stream is one row.
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  /// Number of tokens in all rows.
  [[nodiscard]] std::int64_t tokens() const;
  [[nodiscard]] std::int64_t learnt() const { return learnt_; }
  /// One more than the largest id.
  [[nodiscard]] std::int64_t vocabulary() const { return vocabulary_; }
  /// Number of rows without any token.
  [[nodiscard]] std::int64_t empty_rows() const { return empty_rows_; }
  /// Place of the first of them; empty without any.
  [[nodiscard]] std::string first_empty_row() const;

 private:
  /// A value of the files, and whether it is learnt.
  struct Value {
    std::int64_t id;
    bool learnt;
  };
  /// Adds value number `index`, which lies in file number `file`.
  void add_to_rows(std::size_t file, std::int64_t index, const Value& value);
  [[noreturn]] void refuse_mask(std::int64_t index, std::int64_t value) const;
  /// Warns of padding by a token, which is learnt.
  void warn_of_padding() const;

  const TokenIdData& data_;
  RepeatedEnds ends_;
  std::vector<Row> rows_;
  std::int64_t vocabulary_ = 0, learnt_ = 0, empty_rows_ = 0;
  std::int64_t first_empty_row_ = 0;  ///< Number of its first value.
};

}  // namespace sluice::engine
