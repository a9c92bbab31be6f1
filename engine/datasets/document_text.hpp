// Training text made of documents (texts or conversations), one or several in a sequence.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/chat/chat_template.hpp"
#include "engine/datasets/data.hpp"
#include "engine/datasets/document_cache.hpp"
#include "engine/datasets/example_format.hpp"
#include "engine/datasets/sequence_layout.hpp"
#include "engine/tokenizer/tokenizer.hpp"

namespace sluice::engine {

/// Examples of a data file, cut into tokens by a tokenizer. Tokens are kept in
/// `cache`/HASH.documents, where HASH covers the file's and the tokenizer's bytes, the format and
/// the template.
///
/// A document of n tokens takes n - 1 places, because its last token is only a target. The last
/// twentieth of the documents (at least one) is validation. Texts longer than seq_len + 1 tokens
/// are cut into pieces, which count as documents. Conversations are truncated at that length, and
/// left out if nothing to learn remains. Places behind the last document of a sequence are padding.
class DocumentText : public WindowedText {
 public:
  struct Source {
    std::filesystem::path examples;
    ExampleFormat format;
    std::filesystem::path tokenizer;  ///< Path of tokenizer.json.
    std::filesystem::path cache;      ///< Folder for cut tokens; created if absent.
    ChatTemplate chat = {};           ///< Template for conversations.
    /// Token appended to each text whose tokens do not already end with it.
    std::optional<std::string> end_of_text = std::nullopt;
  };
  /// Opens the source, cutting it into tokens unless the cache holds them; `progress` is called
  /// meanwhile. `packing` must not be automatic. Throws BadRequest naming file, line and field of a
  /// refused example, or if there are fewer than two documents; EnvironmentError if the cache
  /// cannot be written.
  DocumentText(const Source& source, planner::Packing packing, std::int64_t seq_len,
               std::int64_t seed, const TextProgress& progress = nullptr);

  [[nodiscard]] std::string hash() const override;
  [[nodiscard]] std::optional<std::string> hash_of_all_windows() const override;
  [[nodiscard]] double unigram_entropy() const override;
  [[nodiscard]] std::int64_t vocabulary() const override { return vocabulary_; }
  [[nodiscard]] std::string description() const override;
  [[nodiscard]] std::optional<PackedSequences> if_packed() const override;
  [[nodiscard]] std::int64_t used_places() const override;
  [[nodiscard]] DataSummary summary(std::int64_t shown_rows) const override;

 private:
  void read_window(std::int64_t window, std::int32_t* inputs, std::int32_t* targets) override;
  void cut_pieces();
  void add_pieces(std::int64_t document, std::vector<DocumentPiece>& pieces);
  void read_piece(const DocumentPiece& piece, std::int32_t* inputs, std::int32_t* targets) const;

  Source source_;
  planner::Packing packing_;
  std::string tokens_hash_;
  std::unique_ptr<DocumentCache> cache_;
  std::int64_t vocabulary_ = 0;
  SequenceLayout layout_;
  std::int64_t cut_off_ = 0, left_out_ = 0;
};

}  // namespace sluice::engine
