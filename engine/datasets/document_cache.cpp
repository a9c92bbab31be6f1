#include "engine/datasets/document_cache.hpp"

#include <cstring>

#include "engine/model_files/written_file.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

/// Header of a cache file; it is followed by documents + 1 starts, the tokens, and the note.
struct DocumentHeader {
  std::int64_t magic = 0x31434f4445434c53;  // "SLCEDOC1"
  std::int64_t documents = 0;
  std::int64_t tokens = 0;
  friend bool operator==(const DocumentHeader&, const DocumentHeader&) = default;
};

void write_documents(const std::filesystem::path& path, std::span<const std::int64_t> starts,
                     std::span<const LearntToken> tokens, std::string_view note) {
  FileInWriting file(path);
  const DocumentHeader header{.documents = std::ssize(starts) - 1, .tokens = std::ssize(tokens)};
  file.append(std::as_bytes(std::span(&header, 1)));
  file.append(std::as_bytes(starts));
  file.append(std::as_bytes(tokens));
  file.append(std::as_bytes(std::span(note)));
  file.commit();
}

}  // namespace

DocumentCache::DocumentCache(const std::filesystem::path& file, const MakeDocuments& make) {
  if (std::filesystem::exists(file) && open(file)) return;
  std::vector<std::int64_t> starts = {0};
  std::vector<LearntToken> tokens;
  const std::string note = make([&](std::span<const LearntToken> document) {
    tokens.insert(tokens.end(), document.begin(), document.end());
    starts.push_back(std::ssize(tokens));
  });
  write_documents(file, starts, tokens, note);
  check(open(file), "documents that were written can be read");
}

bool DocumentCache::open(const std::filesystem::path& path) {
  file_ = std::make_unique<MappedFile>(path);
  const std::span<const std::byte> bytes = file_->bytes();
  DocumentHeader header;
  if (bytes.size() < sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != DocumentHeader{}.magic || header.documents < 0 || header.tokens < 0) {
    return false;
  }
  const auto starts = static_cast<std::size_t>(header.documents) + 1;
  const auto tokens = static_cast<std::size_t>(header.tokens);
  const std::size_t before_tokens = sizeof header + starts * sizeof(std::int64_t);
  const std::size_t before_note = before_tokens + tokens * sizeof(LearntToken);
  if (bytes.size() < before_note) return false;
  note_ = {reinterpret_cast<const char*>(bytes.data()) + before_note, bytes.size() - before_note};
  if (!note_.empty() && note_.back() != '\n') return false;
  starts_ = {reinterpret_cast<const std::int64_t*>(bytes.data() + sizeof header), starts};
  tokens_ = {reinterpret_cast<const LearntToken*>(bytes.data() + before_tokens), tokens};
  return starts_.back() == header.tokens;
}

}  // namespace sluice::engine
