// Training text cut into tokens by a tokenizer and cached in a file.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "engine/datasets/data.hpp"
#include "engine/model_files/mapped_file.hpp"
#include "engine/tokenizer/tokenizer_folder.hpp"

namespace sluice::engine {

/// Training text that is one UTF-8 text file, cut into tokens by a tokenizer.json. Tokens are kept
/// in `cache`/HASH.tokens, where HASH covers the text's and the tokenizer's bytes, and are
/// memory-mapped from there.
class TokenText : public WindowedText {
 public:
  struct Files {
    std::filesystem::path text;
    TokenizerFolder tokenizer;
    std::filesystem::path cache;  ///< Folder for cut tokens; created if absent.
    std::string name = {};        ///< Name of the text in messages; empty for its path.
  };
  /// Opens the text, cutting it into tokens unless the cache holds them; `progress` is called
  /// meanwhile. Throws BadRequest if a file is missing, the text is too short or not UTF-8, or the
  /// tokenizer is refused; EnvironmentError if the cache cannot be written.
  TokenText(const Files& files, std::int64_t seq_len, std::int64_t seed,
            const TextProgress& progress = nullptr);

  [[nodiscard]] std::string hash() const override { return hash_; }
  [[nodiscard]] double unigram_entropy() const override;
  [[nodiscard]] std::int64_t vocabulary() const override { return vocabulary_; }
  [[nodiscard]] std::string description() const override;
  [[nodiscard]] DataSummary summary(std::int64_t shown_rows) const override;

 private:
  void read_window(std::int64_t window, std::int32_t* inputs, std::int32_t* targets) override;
  [[nodiscard]] std::span<const std::int32_t> stream() const;
  [[nodiscard]] std::string name() const;

  Files files_;
  std::string hash_;
  std::unique_ptr<MappedFile> cache_;
  std::int64_t vocabulary_ = 0;
};

}  // namespace sluice::engine
