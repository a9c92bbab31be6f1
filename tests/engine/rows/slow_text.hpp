// A text as a stream of bytes that is read a few at a time.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "engine/rows/byte_stream.hpp"

namespace sluice::engine::test {

/// Hands out at most `at_once` bytes at a time, so that values lie across reads.
class SlowText : public ByteStream {
 public:
  SlowText(std::string text, std::size_t at_once) : text_(std::move(text)), at_once_(at_once) {}
  std::size_t read(std::span<char> out) override {
    const std::size_t count = std::min({out.size(), text_.size() - at_, at_once_});
    std::memcpy(out.data(), text_.data() + at_, count);
    at_ += count;
    return count;
  }
  [[nodiscard]] std::int64_t bytes_read() const override { return static_cast<std::int64_t>(at_); }

 private:
  std::string text_;
  std::size_t at_once_;
  std::size_t at_ = 0;
};

}  // namespace sluice::engine::test
