#include "engine/rows/text_window.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace sluice::engine {
namespace {

constexpr std::size_t kReadAtOnce = std::size_t{256} << 10;
constexpr std::size_t kMostAtOnce = std::size_t{4} << 20;

}  // namespace

TextWindow::TextWindow(ByteStream& stream, std::string file)
    : stream_(stream), file_(std::move(file)) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  while (rest().size() < kByteOrderMark.size() && more()) {
  }
  if (rest().starts_with(kByteOrderMark)) begin_ += kByteOrderMark.size();
}

bool TextWindow::more() {
  if (ended_) return false;
  if (rest().size() > kLargest) {
    throw BadRequest(where() + ": a row of more than " + std::to_string(kLargest >> 20) +
                     " MiB: is this a data file of one row a line, or of one JSON list?");
  }
  if (begin_ >= text_.size() / 2) {
    text_.erase(0, begin_);
    begin_ = 0;
  }
  const std::size_t had = text_.size();
  const std::size_t room = std::clamp(rest().size(), kReadAtOnce, kMostAtOnce);
  text_.resize(had + room);
  const std::size_t got = stream_.read(std::span(text_).subspan(had));
  text_.resize(had + got);
  ended_ = got == 0;
  return got > 0;
}

void TextWindow::take(std::size_t count) {
  const std::string_view taken = rest().substr(0, count);
  line_ += std::count(taken.begin(), taken.end(), '\n');
  begin_ += taken.size();
  taken_ += std::ssize(taken);
}

std::int64_t TextWindow::bytes_done() const {
  const auto all = static_cast<double>(taken_ + std::ssize(rest()));
  if (all == 0) return 0;
  return static_cast<std::int64_t>(static_cast<double>(stream_.bytes_read()) *
                                   (static_cast<double>(taken_) / all));
}

bool TextWindow::skip_space() {
  for (;;) {
    const std::size_t first = rest().find_first_not_of(" \t\r\n");
    if (first != std::string_view::npos) {
      take(first);
      return true;
    }
    take(rest().size());
    if (!more()) return false;
  }
}

}  // namespace sluice::engine
