#include "engine/rows/packed_stream.hpp"

#include <zlib.h>
#include <zstd.h>

#include <array>

#include "sim/error.hpp"

namespace sluice::engine {
namespace {

constexpr std::size_t kPackedBytes = std::size_t{128} << 10;

[[noreturn]] void refuse_damaged(const std::string& file, const std::string& reason) {
  throw BadRequest("data: " + file + ": its packed form is damaged or cut short (" + reason +
                   "): fetch or pack it again");
}

/// Packed bytes that are read but not unpacked yet.
class PackedBytes {
 public:
  explicit PackedBytes(std::unique_ptr<ByteStream> stream) : stream_(std::move(stream)) {}
  /// Whether there are bytes, after reading more where there were none.
  bool fill() {
    if (begin_ == end_) {
      begin_ = 0;
      end_ = stream_->read(bytes_);
    }
    return begin_ < end_;
  }
  [[nodiscard]] std::span<char> rest() { return std::span(bytes_).subspan(begin_, end_ - begin_); }
  void take(std::size_t count) { begin_ += count; }
  [[nodiscard]] std::int64_t bytes_read() const { return stream_->bytes_read(); }

 private:
  std::unique_ptr<ByteStream> stream_;
  std::array<char, kPackedBytes> bytes_{};
  std::size_t begin_ = 0, end_ = 0;
};

class GzipStream : public ByteStream {
 public:
  GzipStream(std::unique_ptr<ByteStream> packed, std::string file)
      : packed_(std::move(packed)), file_(std::move(file)) {
    constexpr int kGzipWindow = 15 + 16;  // zlib.h: 16 for gzip headers.
    check(inflateInit2(&state_, kGzipWindow) == Z_OK, "zlib starts");
  }
  ~GzipStream() override { inflateEnd(&state_); }
  GzipStream(const GzipStream&) = delete;  // zlib's state points into itself.
  GzipStream& operator=(const GzipStream&) = delete;

  std::size_t read(std::span<char> out) override {
    state_.next_out = reinterpret_cast<Bytef*>(out.data());
    state_.avail_out = static_cast<uInt>(std::min<std::size_t>(out.size(), 1U << 30U));
    const uInt room = state_.avail_out;
    while (state_.avail_out == room) {
      if (!packed_.fill()) {
        if (inside_) refuse_damaged(file_, "it ends within a member");
        return 0;
      }
      if (!inside_ && !begin_member()) return 0;
      step();
    }
    return room - state_.avail_out;
  }
  [[nodiscard]] std::int64_t bytes_read() const override { return packed_.bytes_read(); }

 private:
  /// Begins the next member; false where only zeros follow, which tools append as padding.
  bool begin_member() {
    if (members_ > 0 && packed_.rest()[0] == '\0') return false;
    if (members_++ > 0) inflateReset(&state_);
    return inside_ = true;
  }

  void step() {
    const std::span<char> rest = packed_.rest();
    state_.next_in = reinterpret_cast<Bytef*>(rest.data());
    state_.avail_in = static_cast<uInt>(rest.size());
    const int said = inflate(&state_, Z_NO_FLUSH);
    packed_.take(rest.size() - state_.avail_in);
    if (said == Z_STREAM_END) {
      inside_ = false;
    } else if (said != Z_OK && said != Z_BUF_ERROR) {
      refuse_damaged(file_, state_.msg != nullptr ? state_.msg : "gzip");
    }
  }

  PackedBytes packed_;
  std::string file_;
  z_stream state_{};
  bool inside_ = false;  ///< Whether a member has begun and not ended.
  int members_ = 0;
};

class ZstdStream : public ByteStream {
 public:
  ZstdStream(std::unique_ptr<ByteStream> packed, std::string file)
      : packed_(std::move(packed)), file_(std::move(file)), state_(ZSTD_createDStream()) {
    check(state_ != nullptr, "zstd starts");
    // Frames of `zstd --long=31`, as the largest corpora have them.
    constexpr int kLargestWindow = 31;
    ZSTD_DCtx_setParameter(state_.get(), ZSTD_d_windowLogMax, kLargestWindow);
  }

  std::size_t read(std::span<char> out) override {
    ZSTD_outBuffer made{.dst = out.data(), .size = out.size(), .pos = 0};
    while (made.pos == 0) {
      // What the frame still holds comes out without further input.
      const bool any = packed_.fill();
      if (!any && !inside_) return 0;
      const std::span<char> rest = any ? packed_.rest() : std::span<char>();
      ZSTD_inBuffer in{.src = rest.data(), .size = rest.size(), .pos = 0};
      const std::size_t said = ZSTD_decompressStream(state_.get(), &made, &in);
      if (ZSTD_isError(said) != 0) refuse_damaged(file_, ZSTD_getErrorName(said));
      packed_.take(in.pos);
      inside_ = said != 0;
      if (!any && inside_ && made.pos == 0) refuse_damaged(file_, "it ends within a frame");
    }
    return made.pos;
  }
  [[nodiscard]] std::int64_t bytes_read() const override { return packed_.bytes_read(); }

 private:
  struct Free {
    void operator()(ZSTD_DStream* state) const { ZSTD_freeDStream(state); }
  };
  PackedBytes packed_;
  std::string file_;
  std::unique_ptr<ZSTD_DStream, Free> state_;
  bool inside_ = false;  ///< Whether a frame has begun and not ended.
};

}  // namespace

std::unique_ptr<ByteStream> gzip_stream(std::unique_ptr<ByteStream> packed, std::string file) {
  return std::make_unique<GzipStream>(std::move(packed), std::move(file));
}

std::unique_ptr<ByteStream> zstd_stream(std::unique_ptr<ByteStream> packed, std::string file) {
  return std::make_unique<ZstdStream>(std::move(packed), std::move(file));
}

}  // namespace sluice::engine
