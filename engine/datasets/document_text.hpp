// Training on documents: texts or conversations as tokens, one or several a sequence.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/datasets/chat_template.hpp"
#include "engine/datasets/data.hpp"
#include "engine/datasets/document_cache.hpp"
#include "engine/datasets/record_format.hpp"
#include "engine/tokenizer/tokenizer.hpp"

namespace sluice::engine {

/// Records under a tokenizer. Their tokens are kept in `cache`/HASH.documents, where HASH is of the
/// file's and the tokenizer's bytes, the format and the template.
///
/// A document of n tokens takes n - 1 places: the last one is nothing but a target. The last
/// twentieth of the documents (at least one) is validation. Texts longer than seq_len + 1 tokens
/// are cut into pieces, which count as documents; conversations are cut off there, and left out
/// where nothing to learn remains. Places behind the last document of a sequence are padding.
class DocumentText : public WindowedText {
 public:
  struct Source {
    std::filesystem::path records;
    RecordFormat format;
    std::filesystem::path tokenizer;  ///< tokenizer.json
    std::filesystem::path cache;      ///< Folder; made where it is absent.
    ChatTemplate chat = {};           ///< Conversations.
    /// Texts: what ends each, beside the tokenizer's own special tokens.
    std::optional<std::string> end_of_text = std::nullopt;
  };
  /// Throws BadRequest naming file, line and field of a record that is refused, and where there are
  /// fewer than two documents; EnvironmentError where the cache cannot be written. `packing` is not
  /// automatic. `progress` is told while records become tokens.
  DocumentText(const Source& source, planner::Packing packing, std::int64_t seq_len,
               std::int64_t seed, const TextProgress& progress = nullptr);

  [[nodiscard]] std::string hash() const override;
  [[nodiscard]] double unigram_entropy() const override;
  [[nodiscard]] std::int64_t vocabulary() const override { return vocabulary_; }
  [[nodiscard]] std::string description() const override;

 private:
  /// Tokens first .. first + places: `places` inputs, and as many targets one token on.
  struct Piece {
    std::int64_t first, places;
  };
  void read_window(std::int64_t window, std::int32_t* inputs, std::int32_t* targets) override;
  void cut_pieces();
  void add_pieces(std::int64_t document, std::vector<Piece>& pieces);
  /// Makes sequences of pieces and returns how many.
  std::int64_t add_sequences(const std::vector<Piece>& pieces);
  void read_piece(const Piece& piece, std::int32_t* inputs, std::int32_t* targets) const;

  Source source_;
  planner::Packing packing_;
  std::string tokens_hash_;
  std::unique_ptr<DocumentCache> cache_;
  std::int64_t vocabulary_ = 0;
  std::vector<Piece> pieces_;                  ///< In the order of the sequences.
  std::vector<std::int64_t> sequences_ = {0};  ///< First piece of each, and one more.
  std::int64_t cut_off_ = 0, left_out_ = 0;
};

}  // namespace sluice::engine
