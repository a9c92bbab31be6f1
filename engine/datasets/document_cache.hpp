// Documents cut into tokens once and kept in a file.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "engine/datasets/learnt_tokens.hpp"
#include "engine/model_files/mapped_file.hpp"

namespace sluice::engine {

/// A file of documents read through memory: a header, where each document starts, and all tokens.
class DocumentCache {
 public:
  using AddDocument = std::function<void(std::span<const LearntToken>)>;
  /// Calls its argument for each document in order.
  using MakeDocuments = std::function<void(const AddDocument&)>;

  /// Opens `file`; where it is absent or not whole, makes it first, beside its place. Throws
  /// EnvironmentError where it cannot be written, and what `make` throws.
  DocumentCache(const std::filesystem::path& file, const MakeDocuments& make);

  [[nodiscard]] std::int64_t documents() const { return std::ssize(starts_) - 1; }
  /// Of all documents, one behind the other.
  [[nodiscard]] std::span<const LearntToken> tokens() const { return tokens_; }
  /// Where document `index` starts among them; of `documents()`, where the last one ends.
  [[nodiscard]] std::int64_t start(std::int64_t index) const {
    return starts_[static_cast<std::size_t>(index)];
  }

 private:
  [[nodiscard]] bool open(const std::filesystem::path& file);

  std::unique_ptr<MappedFile> file_;
  std::span<const std::int64_t> starts_;
  std::span<const LearntToken> tokens_;
};

}  // namespace sluice::engine
