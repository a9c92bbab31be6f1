// Training text that is token ids already, cut elsewhere.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/datasets/data.hpp"
#include "engine/datasets/integer_files.hpp"
#include "engine/datasets/repeated_ends.hpp"
#include "engine/datasets/sequence_layout.hpp"
#include "engine/tokenizer/tokenizer.hpp"

namespace sluice::engine {

/// Training text that is given as token ids: .npy files, or .bin files of nothing but ids. Ids in
/// one row are a stream, cut into windows. Rows of a matrix are documents: -1 or -100 behind a
/// row's last token is padding. A mask of the same shape says by 0 and 1 which tokens are learnt;
/// without one, all are.
///
/// A row of more than seq_len + 1 tokens is cut into pieces; with a mask it is cut off at that
/// length instead. Rows with nothing to learn are left out. The last twentieth of the rows (at
/// least one) is validation.
class TokenIds : public WindowedText {
 public:
  struct Files {
    std::filesystem::path ids;
    /// File of the mask. Without one, NAME.mask.npy beside an `ids` of NAME.npy or NAME.bin is the
    /// mask, if it exists.
    std::optional<std::filesystem::path> mask = std::nullopt;
    IntegerType raw_type = IntegerType::uint16;  ///< Type of the ids in a file that is no .npy.
    /// Files that follow `ids`: the shards of one data set, in order.
    std::vector<std::filesystem::path> further = {};
    /// Largest number of rows that are read of all these files, from the first on.
    std::optional<std::int64_t> max_rows = std::nullopt;
  };
  /// Opens the files and reads them once; `progress` is called meanwhile. Warns where every second
  /// id is next to nothing, as in ids of twice the size, and where rows begin or end in one learnt
  /// id, repeated, as padding by a token leaves them. Throws BadRequest for a
  /// value that is no token id (or in the mask neither 0 nor 1), with its place; where the shapes
  /// of ids and mask differ; and where there are fewer than two windows or rows to learn.
  TokenIds(const Files& files, planner::Packing packing, std::int64_t seq_len, std::int64_t seed,
           const TextProgress& progress = nullptr);
  /// Opens several data sets, which are read one after another as if they were one; with several
  /// files in all, masks are the files beside them: every file has one, or none has.
  TokenIds(const std::vector<Files>& sets, planner::Packing packing, std::int64_t seq_len,
           std::int64_t seed, const TextProgress& progress = nullptr);

  /// Rows without any token, which are left out; none if every row has one.
  [[nodiscard]] std::optional<LeftOutRows> rows_left_out() const;

  [[nodiscard]] std::string hash() const override { return hash_; }
  [[nodiscard]] double unigram_entropy() const override;
  [[nodiscard]] std::int64_t vocabulary() const override { return vocabulary_; }
  [[nodiscard]] std::optional<std::string> token_beyond(std::int64_t vocabulary) const override;
  [[nodiscard]] std::string description() const override;
  [[nodiscard]] std::optional<PackedSequences> if_packed() const override;
  [[nodiscard]] std::int64_t used_places() const override;
  [[nodiscard]] DataSummary summary(std::int64_t shown_rows) const override;

 private:
  /// What one row holds: tokens `first` to first + tokens - 1 of the file, padding left out.
  struct Row {
    std::int64_t first, tokens;
  };
  /// Calls `visit(first, ids, learnt)` for all values of the files in order, part by part: `first`
  /// is the number of the part's first value, `learnt` its mask.
  template <class Visit>
  void for_each_part(const Visit& visit) const;
  /// Reads all ids and the mask, and checks them; sets the rows, the vocabulary and the number of
  /// learnt tokens.
  void scan(const TextProgress& progress);
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
  void cut_rows();
  /// Pieces into which a row is cut, without those that have nothing to learn.
  [[nodiscard]] std::vector<DocumentPiece> pieces_of(const Row& row);
  /// Buffers for ids, mask and marked tokens that are read together.
  struct Part {
    explicit Part(std::int64_t most);
    std::vector<std::int64_t> ids, mask;
    std::vector<LearntToken> tokens;
  };
  /// Reads tokens number `first` to first + count - 1 of the file, each learnt or only read, into
  /// `part`, and returns them.
  std::span<const LearntToken> read_tokens(std::int64_t first, std::int64_t count,
                                           Part& part) const;
  /// The tokens that a summary shows as row `row`; for a stream, those of window `row`.
  [[nodiscard]] std::vector<LearntToken> shown_tokens(std::int64_t row) const;
  /// Number of places in all sequences whose target is learnt.
  [[nodiscard]] std::int64_t learnt_places() const;
  void read_piece(const DocumentPiece& piece, std::int32_t* inputs, std::int32_t* targets);
  void read_window(std::int64_t window, std::int32_t* inputs, std::int32_t* targets) override;

  IntegerFiles ids_;
  std::optional<IntegerFiles> mask_;
  planner::Packing packing_;
  SequenceLayout layout_;
  std::string hash_;
  RepeatedEnds ends_;
  std::vector<Row> rows_;  ///< Rows that hold any token; a stream is one row.
  std::int64_t vocabulary_ = 0, learnt_ = 0, empty_rows_ = 0, cut_off_ = 0, nothing_within_ = 0;
  std::int64_t first_empty_row_ = 0;
  Part window_;  ///< Buffers for one window, kept so that reading for training allocates nothing.
};

}  // namespace sluice::engine
