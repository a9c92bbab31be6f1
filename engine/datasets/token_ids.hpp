// Training text that is token ids already, cut elsewhere.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/datasets/data.hpp"
#include "engine/datasets/sequence_layout.hpp"
#include "engine/datasets/token_id_files.hpp"
#include "engine/datasets/token_id_rows.hpp"
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
  using Files = TokenIdFiles;
  /// Opens the files (open_token_ids()) and reads them once (TokenIdRows), with what these warn of
  /// and refuse; `progress` is called meanwhile. Throws BadRequest where there are fewer than two
  /// windows or rows to learn.
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
  [[nodiscard]] std::int64_t vocabulary() const override { return rows_.vocabulary(); }
  [[nodiscard]] std::optional<std::string> token_beyond(std::int64_t vocabulary) const override;
  [[nodiscard]] std::string description() const override;
  [[nodiscard]] std::optional<PackedSequences> if_packed() const override;
  [[nodiscard]] std::int64_t used_places() const override;
  [[nodiscard]] DataSummary summary(std::int64_t shown_rows) const override;

 private:
  using Row = TokenIdRows::Row;
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

  TokenIdData data_;
  planner::Packing packing_;
  SequenceLayout layout_;
  std::string hash_;
  TokenIdRows rows_;
  std::int64_t cut_off_ = 0, nothing_within_ = 0;
  Part window_;  ///< Buffers for one window, kept so that reading for training allocates nothing.
};

}  // namespace sluice::engine
