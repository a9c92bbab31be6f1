// Cache file of documents that were cut into tokens.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "engine/datasets/learnt_tokens.hpp"
#include "engine/model_files/mapped_file.hpp"

namespace sluice::engine {

/// A memory-mapped file of documents: a header, the index of each document's first token, all
/// tokens, and a note on how they were made.
class DocumentCache {
 public:
  using AddDocument = std::function<void(std::span<const LearntToken>)>;
  /// Function that calls its argument once for each document, in order, and returns the note: text
  /// that is empty or ends with a line feed.
  using MakeDocuments = std::function<std::string(const AddDocument&)>;

  /// Opens `file`, first making it if it is absent or incomplete; it is written beside its place
  /// and renamed. Throws EnvironmentError if it cannot be written, and whatever `make` throws.
  DocumentCache(const std::filesystem::path& file, const MakeDocuments& make);

  [[nodiscard]] std::int64_t documents() const { return std::ssize(starts_) - 1; }
  /// Tokens of all documents, one document after another.
  [[nodiscard]] std::span<const LearntToken> tokens() const { return tokens_; }
  /// Index of document `index`'s first token; for `documents()`, the number of all tokens.
  [[nodiscard]] std::int64_t start(std::int64_t index) const {
    return starts_[static_cast<std::size_t>(index)];
  }
  /// The note that `make` returned; empty in files of Sluice 0.1.0.
  [[nodiscard]] std::string_view note() const { return note_; }
  [[nodiscard]] std::span<const LearntToken> document(std::int64_t index) const {
    const auto first = static_cast<std::size_t>(start(index));
    return tokens_.subspan(first, static_cast<std::size_t>(start(index + 1)) - first);
  }

 private:
  [[nodiscard]] bool open(const std::filesystem::path& file);

  std::unique_ptr<MappedFile> file_;
  std::span<const std::int64_t> starts_;
  std::span<const LearntToken> tokens_;
  std::string_view note_;
};

}  // namespace sluice::engine
