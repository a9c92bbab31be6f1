// A window that slides over the text of a stream.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/rows/byte_stream.hpp"

namespace sluice::engine {

/// The part of a stream's text that was read and is not taken yet. Readers look at `rest`, ask for
/// `more` of it where it ends too early, and take what they have understood.
class TextWindow {
 public:
  /// Largest size of `rest` in bytes with which more() still reads on.
  static constexpr std::size_t kLargest = std::size_t{256} << 20;

  /// `stream` must outlive the window; `file` is for messages. Skips UTF-8's byte order mark.
  TextWindow(ByteStream& stream, std::string file);

  [[nodiscard]] std::string_view rest() const { return std::string_view(text_).substr(begin_); }
  /// Reads on, so that `rest` grows at its end; false at the end of the text. Views of `rest`
  /// become invalid. Throws BadRequest "FILE:LINE: ..." where `rest` exceeds kLargest.
  bool more();
  /// Takes the first `count` bytes of `rest`.
  void take(std::size_t count);
  /// Takes spaces, tabs and line ends; false if nothing follows them.
  bool skip_space();

  /// Line of the first byte of `rest`, from 1.
  [[nodiscard]] std::int64_t line() const { return line_; }
  [[nodiscard]] const std::string& file() const { return file_; }
  /// "FILE:LINE" of the first byte of `rest`.
  [[nodiscard]] std::string where() const { return file_ + ":" + std::to_string(line_); }
  /// Number of the file's bytes whose text was taken, for progress; of a packed file, in proportion
  /// to the unpacked text.
  [[nodiscard]] std::int64_t bytes_done() const;

 private:
  ByteStream& stream_;
  std::string file_;
  std::string text_;
  std::size_t begin_ = 0;
  std::int64_t line_ = 1;
  std::int64_t taken_ = 0;  ///< Number of bytes of text that were taken.
  bool ended_ = false;
};

}  // namespace sluice::engine
