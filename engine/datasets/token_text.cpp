#include "engine/datasets/token_text.hpp"

#include <algorithm>
#include <string_view>

#include "engine/model_files/written_file.hpp"
#include "engine/tokenizer/tokenizer.hpp"
#include "planner/files/hash.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

/// Version of the cache's contents: to be increased whenever equal files would give other tokens.
constexpr std::int64_t kCacheVersion = 1;

std::string_view text_of_file(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

void write_cache(const std::filesystem::path& path, std::span<const TokenId> tokens) {
  FileInWriting file(path);
  file.append(std::as_bytes(tokens));
  file.commit();
}

}  // namespace

TokenText::TokenText(const Files& files, std::int64_t seq_len, std::int64_t seed,
                     const TextProgress& progress)
    : WindowedText(seq_len, seed), files_(files) {
  if (!std::filesystem::is_regular_file(files.text)) {
    throw BadRequest("data: there is no file " + name() + " (give the path of a text file)");
  }
  hash_ = planner::CanonicalText("sluice/tokens")
              .add("version", kCacheVersion)
              .add("text", read_record(files.text).sha256)
              .add("tokenizer", files.tokenizer.hash())
              .hash();
  const std::filesystem::path cache = files.cache / (hash_ + ".tokens");
  if (!std::filesystem::exists(cache)) {
    Tokenizer tokenizer = files.tokenizer.load();
    const MappedFile text(files.text);
    try {
      write_cache(cache,
                  tokenizer.encode(text_of_file(text), Tokenizer::SpecialTokens::none, progress));
    } catch (const BadRequest& error) {
      throw BadRequest("data: " + name() + ": " + error.what());
    }
  }
  cache_ = std::make_unique<MappedFile>(cache);
  cut(name(), std::ssize(stream()), "tokens");
  vocabulary_ = *std::ranges::max_element(stream()) + 1;
}

std::span<const std::int32_t> TokenText::stream() const {
  const std::span<const std::byte> bytes = cache_->bytes();
  return {reinterpret_cast<const std::int32_t*>(bytes.data()), bytes.size() / sizeof(std::int32_t)};
}

double TokenText::unigram_entropy() const {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(vocabulary_));
  for (const std::int32_t token : stream()) ++counts[static_cast<std::size_t>(token)];
  return entropy_of(counts);
}

std::string TokenText::description() const {
  return std::to_string(tokens()) + " tokens of " + name() + " by " +
         files_.tokenizer.main_file().string();
}

std::string TokenText::name() const {
  return files_.name.empty() ? files_.text.string() : files_.name;
}

void TokenText::read_window(std::int64_t window, std::int32_t* inputs, std::int32_t* targets) {
  const auto length = static_cast<std::size_t>(seq_len());
  const auto tokens = stream().subspan(static_cast<std::size_t>(window * seq_len()), length + 1);
  std::ranges::copy(tokens.first(length), inputs);
  std::ranges::copy(tokens.subspan(1), targets);
}

}  // namespace sluice::engine
