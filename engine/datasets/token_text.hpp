// Training text as a tokenizer's tokens, cut once and kept in a file.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "engine/datasets/data.hpp"
#include "engine/model_files/mapped_file.hpp"
#include "engine/tokenizer/tokenizer.hpp"

namespace sluice::engine {

/// A UTF-8 text file under a tokenizer.json. The tokens are kept in `cache`/HASH.tokens, where HASH
/// is of the text's and the tokenizer's bytes, and read from there through memory.
class TokenText : public WindowedText {
 public:
  struct Files {
    std::filesystem::path text;
    std::filesystem::path tokenizer;  ///< tokenizer.json
    std::filesystem::path cache;      ///< Folder; made where it is absent.
  };
  /// Throws BadRequest where a file is missing, the text is not UTF-8 or too short, or the
  /// tokenizer is refused; EnvironmentError where the cache cannot be written. `progress` is told
  /// while the text is cut.
  TokenText(const Files& files, std::int64_t seq_len, std::int64_t seed,
            const TextProgress& progress = nullptr);

  [[nodiscard]] std::string hash() const override { return hash_; }
  [[nodiscard]] double unigram_entropy() const override;
  [[nodiscard]] std::int64_t vocabulary() const override { return vocabulary_; }
  [[nodiscard]] std::string description() const override;

 private:
  void read_window(std::int64_t window, std::int32_t* inputs, std::int32_t* targets) override;
  [[nodiscard]] std::span<const std::int32_t> stream() const;

  Files files_;
  std::string hash_;
  std::unique_ptr<MappedFile> cache_;
  std::int64_t vocabulary_ = 0;
};

}  // namespace sluice::engine
