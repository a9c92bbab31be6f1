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

/// Documents cut into tokens, in a memory-mapped cache file: a header, the index of each document's
/// first token, all tokens, and a note on how they were made.
class DocumentCache {
 public:
  using AddDocument = std::function<void(std::span<const LearntToken>)>;
  /// Function that makes the documents: it passes each one to its argument, in order, and returns
  /// the note: text that is empty or ends with a line feed.
  using MakeDocuments = std::function<std::string(const AddDocument&)>;

  /// Opens the cache file `file`. If that is absent or incomplete, it is first made of the
  /// documents of `make`, under another name, and renamed when it is whole. Throws EnvironmentError
  /// if it cannot be written, and whatever `make` throws.
  DocumentCache(const std::filesystem::path& file, const MakeDocuments& make);

  [[nodiscard]] std::int64_t documents() const { return std::ssize(starts_) - 1; }
  /// Tokens of all documents, one document after another.
  [[nodiscard]] std::span<const LearntToken> tokens() const { return tokens_; }
  /// Where document `index` begins in tokens(); for index documents(), the number of all tokens.
  [[nodiscard]] std::int64_t start(std::int64_t index) const {
    return starts_[static_cast<std::size_t>(index)];
  }
  /// The note that came with the documents when the file was made; empty in files of Sluice 0.1.0.
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
