// Training text that is token ids already, cut elsewhere.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/datasets/data.hpp"
#include "engine/datasets/integer_file.hpp"
#include "engine/datasets/sequence_layout.hpp"
#include "engine/tokenizer/tokenizer.hpp"

namespace sluice::engine {

/// Token ids of a .npy file, or of a .bin file of nothing but ids. Ids in one row are a stream, cut
/// into windows. Rows of a matrix are documents: -1 or -100 behind a row's last token is padding.
/// A mask of the same shape says by 0 and 1 which tokens are learnt; without one, all are.
///
/// A row of more than seq_len + 1 tokens is cut into pieces, or, with a mask, off at that length;
/// pieces with nothing to learn are left out. The last twentieth of the rows (at least one) is
/// validation.
class TokenIds : public WindowedText {
 public:
  struct Files {
    std::filesystem::path ids;
    /// Mask beside the ids; none for NAME.mask.npy of an `ids` NAME.npy or NAME.bin, where that
    /// exists.
    std::optional<std::filesystem::path> mask = std::nullopt;
    IntegerType raw_type = IntegerType::uint16;  ///< Type of the values of a file that is no .npy.
  };
  /// Opens the files and reads them once; `progress` is called meanwhile. Throws BadRequest for an
  /// id or mask that is none, by its place; where the shapes of ids and mask differ; and where
  /// there are fewer than two windows or rows to learn.
  TokenIds(const Files& files, planner::Packing packing, std::int64_t seq_len, std::int64_t seed,
           const TextProgress& progress = nullptr);

  [[nodiscard]] std::string hash() const override { return hash_; }
  [[nodiscard]] double unigram_entropy() const override;
  [[nodiscard]] std::int64_t vocabulary() const override { return vocabulary_; }
  [[nodiscard]] std::optional<std::string> token_beyond(std::int64_t vocabulary) const override;
  [[nodiscard]] std::string description() const override;
  [[nodiscard]] std::optional<PackedSequences> if_packed() const override;
  [[nodiscard]] std::int64_t used_places() const override;
  [[nodiscard]] DataSummary summary(std::int64_t shown_rows) const override;

 private:
  /// Tokens first .. first + tokens of the file: what one row holds.
  struct Row {
    std::int64_t first, tokens;
  };
  /// Calls `visit(first, ids, learnt)` for all values of the files in order, part by part.
  template <class Visit>
  void for_each_part(const Visit& visit) const;
  /// Reads all ids and masks: the rows, the vocabulary and the number of learnt tokens.
  void scan(const TextProgress& progress);
  void add_to_rows(std::int64_t index, std::int64_t id);
  void cut_rows();
  /// Pieces of a row that have something to learn.
  [[nodiscard]] std::vector<DocumentPiece> pieces_of(const Row& row);
  /// Values that were read together.
  struct Part {
    explicit Part(std::int64_t most);
    std::vector<std::int64_t> ids, mask;
    std::vector<LearntToken> tokens;
  };
  /// Reads tokens first .. first + count of the file, each learnt or only read, into `part`.
  std::span<const LearntToken> read_tokens(std::int64_t first, std::int64_t count,
                                           Part& part) const;
  /// Tokens shown as row `row`; a stream is shown as its windows.
  [[nodiscard]] std::vector<LearntToken> shown_tokens(std::int64_t row) const;
  /// Number of places whose target is learnt.
  [[nodiscard]] std::int64_t learnt_places() const;
  void read_piece(const DocumentPiece& piece, std::int32_t* inputs, std::int32_t* targets);
  void read_window(std::int64_t window, std::int32_t* inputs, std::int32_t* targets) override;

  IntegerFile ids_;
  std::optional<IntegerFile> mask_;
  planner::Packing packing_;
  SequenceLayout layout_;
  std::string hash_;
  std::vector<Row> rows_;  ///< Rows that hold tokens; one for a stream.
  std::int64_t vocabulary_ = 0, learnt_ = 0, empty_rows_ = 0, cut_off_ = 0, nothing_within_ = 0;
  std::int64_t first_empty_row_ = 0;
  Part window_;  ///< One window's values; reading for training allocates nothing.
};

}  // namespace sluice::engine
