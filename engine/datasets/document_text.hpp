// Training text made of documents (texts or conversations), one or several in a sequence.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/datasets/data.hpp"
#include "engine/datasets/document_cache.hpp"
#include "engine/datasets/document_maker.hpp"
#include "engine/datasets/sequence_layout.hpp"
#include "planner/files/hash.hpp"

namespace sluice::engine {

/// Training text of examples (texts or conversations) of one or several data sets, cut into tokens
/// by a tokenizer. Tokens of each set are kept in `cache`/HASH.documents, where HASH covers the
/// bytes of its files and of the tokenizer, the format and the template; a mixture of sets is kept
/// in a file of its own.
///
/// A document of n tokens takes n - 1 places, because its last token is only a target. The last
/// twentieth of the documents (at least one; in a mixture of each set) is validation. Texts longer
/// than seq_len + 1 tokens are cut into pieces, each read like a document. Conversations are
/// truncated at that length, and left out if nothing to learn remains. Places behind the last
/// document of a sequence are padding. With Packing::stream all documents are instead joined and
/// cut into windows.
class DocumentText : public WindowedText {
 public:
  struct Source {
    std::vector<DocumentRows> sets;
    DocumentTokens tokens;
    planner::Mixture mixture = planner::Mixture::weights;  ///< What a pass over the sets is.
    std::filesystem::path cache;  ///< Folder for cut tokens; created if absent.
  };
  /// Opens the data sets of `source`, cutting them into tokens unless the cache holds them;
  /// `progress` is called meanwhile. Rows that are left out are told on stderr. `packing` must not
  /// be automatic. Throws BadRequest for data that are refused, or if there are fewer than two
  /// documents (windows, in a stream); EnvironmentError if the cache cannot be written or a file
  /// cannot be read here.
  DocumentText(Source source, planner::Packing packing, std::int64_t seq_len, std::int64_t seed,
               const TextProgress& progress = nullptr);

  [[nodiscard]] std::string hash() const override;
  [[nodiscard]] std::optional<std::string> hash_of_all_windows() const override;
  [[nodiscard]] std::optional<ChatFacts> chat() const override;
  [[nodiscard]] double unigram_entropy() const override;
  [[nodiscard]] std::int64_t vocabulary() const override { return vocabulary_; }
  [[nodiscard]] std::string description() const override;
  [[nodiscard]] std::optional<PackedSequences> if_packed() const override;
  [[nodiscard]] std::int64_t used_places() const override;
  [[nodiscard]] DataSummary summary(std::int64_t shown_rows) const override;

 private:
  void read_window(std::int64_t window, std::int32_t* inputs, std::int32_t* targets) override;
  /// Opens the documents of all sets. Throws BadRequests with what is refused in each of them.
  void open_sets(const TextProgress& progress);
  /// Refuses a column `learnt` that no row of any set has, and warns of other such columns.
  void require_columns() const;
  void open_set(const DocumentRows& rows, const TextProgress& progress,
                std::vector<std::unique_ptr<DocumentCache>>& opened,
                planner::CanonicalText& mixture);
  void open_mixture(const std::vector<std::unique_ptr<DocumentCache>>& sets);
  [[nodiscard]] bool is_mixture() const;
  [[nodiscard]] bool has_conversations() const;
  [[nodiscard]] std::string names() const;
  void cut_stream();
  void cut_pieces();
  /// Throws BadRequest if rows have nothing to learn within seq_len and the run is strict.
  void require_nothing_left_out() const;
  void add_pieces(std::int64_t document, std::vector<DocumentPiece>& pieces);
  void read_piece(const DocumentPiece& piece, std::int32_t* inputs, std::int32_t* targets) const;
  [[nodiscard]] std::int64_t learnt_within(const DocumentPiece& piece) const;
  /// The tokens of window `window` of a stream, counted with the windows that are left out.
  [[nodiscard]] DocumentPiece stream_window(std::int64_t window) const;
  /// Whether a document is a text, which is cut into pieces where it is too long; conversations and
  /// answers to prompts are cut off.
  [[nodiscard]] bool is_text(std::int64_t document) const;

  Source source_;
  planner::Packing packing_;
  std::string tokens_hash_;
  /// Hash that Sluice 0.1.0 gave the tokens, where it is not tokens_hash_; for a single data set.
  std::optional<std::string> tokens_hash_of_0_1_0_;
  std::unique_ptr<DocumentCache> cache_;
  /// Numbers of rows read, used and left out, one entry for each data set.
  std::vector<RowCounts> counts_;
  /// Number of a mixture's documents that are trained; those behind them are validation. None
  /// without a mixture.
  std::optional<std::int64_t> training_documents_;
  /// Index of the data set of each document; empty unless they are a mixture.
  std::vector<std::int64_t> set_of_document_;
  /// Number of windows of the documents that are trained, where a mixture is one stream.
  std::int64_t windows_of_training_ = 0;
  std::int64_t vocabulary_ = 0;
  SequenceLayout layout_;
  std::int64_t cut_off_ = 0, left_out_ = 0;
  std::int64_t first_left_out_ = 0;  ///< Number of the first document that is left out.
};

}  // namespace sluice::engine
