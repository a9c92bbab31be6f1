#include "cli/shown/progress_stream.hpp"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

/// File descriptor that SLUICE_PROGRESS_FD names.
std::optional<int> named_descriptor() {
  const char* text = std::getenv("SLUICE_PROGRESS_FD");
  if (text == nullptr) return std::nullopt;
  int descriptor = 0;
  const char* const end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, descriptor);
  if (error != std::errc() || rest != end || descriptor < 0) return std::nullopt;
  return descriptor;
}

}  // namespace

bool streams_progress() { return named_descriptor().has_value(); }

void stream_progress(const std::string& what, std::int64_t done, std::optional<std::int64_t> all,
                     const sim::Json& more) {
  const auto descriptor = named_descriptor();
  if (!descriptor) return;
  sim::Json line = {{"what", what}, {"done", done}, {"all", nullptr}};
  if (all) line["all"] = *all;
  if (!more.is_null()) line.update(more);
  // Short lines reach a pipe whole, so that those of several threads do not mix.
  const std::string text = line.dump() + "\n";
  [[maybe_unused]] const ssize_t written = ::write(*descriptor, text.data(), text.size());
}

}  // namespace sluice::cli
