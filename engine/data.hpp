// Training text: a file as bytes, cut into windows, shuffled by position.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "engine/token_source.hpp"
#include "sim/units.hpp"

namespace sluice::engine {

/// What fixes an order.
struct ShuffleKey {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
};

/// A bijection of 0 .. size - 1 fixed by the key: a four-round Feistel network on the
/// smallest even number of bits, walked until it lands inside (M. Luby, C. Rackoff 1988; cycle
/// walking: J. Black, P. Rogaway 2002). Needs no memory.
[[nodiscard]] std::int64_t shuffled(std::int64_t index, std::int64_t size, ShuffleKey key);

/// A text file read as bytes, one token a byte. Documents are one stream, cut into windows of
/// seq_len + 1 tokens that overlap by one: window w is bytes [w seq_len, (w + 1) seq_len]. The last
/// twentieth of the windows (at least one) is validation, the rest training. The file stays on
/// disk: a window is read when it is needed.
class ByteText : public TokenSource {
 public:
  /// Throws BadRequest where the file is missing, not a regular file, or holds fewer than two
  /// windows.
  ByteText(const std::filesystem::path& file, std::int64_t seq_len, std::int64_t seed);
  ~ByteText() override;
  ByteText(const ByteText&) = delete;  // Owns a file descriptor.
  ByteText& operator=(const ByteText&) = delete;

  [[nodiscard]] std::int64_t training_windows() const { return training_; }
  [[nodiscard]] std::int64_t validation_windows() const { return windows_ - training_; }
  [[nodiscard]] std::int64_t seq_len() const { return seq_len_; }
  [[nodiscard]] Bytes size() const { return size_; }

  /// The window that is sequence number `position` of the whole run (from 0): a pure function of
  /// seed, epoch = position / training_windows and position within the epoch.
  [[nodiscard]] std::int64_t training_window(std::int64_t position) const;

  /// Training sequences. Throws EnvironmentError where the file no longer reads.
  void read(std::int64_t position, std::span<std::int32_t> inputs,
            std::span<std::int32_t> targets) override;
  /// Reads validation windows first .. first + n - 1, in file order.
  void read_validation(std::int64_t first, std::span<std::int32_t> inputs,
                       std::span<std::int32_t> targets);

  /// SHA-256 of the file's bytes.
  [[nodiscard]] std::string hash() const;

 private:
  void read_window(std::int64_t window, std::int32_t* inputs, std::int32_t* targets);

  std::filesystem::path file_;
  int descriptor_ = -1;
  Bytes size_{0};
  std::int64_t seq_len_;
  std::uint64_t seed_;
  std::int64_t windows_ = 0;
  std::int64_t training_ = 0;
  std::vector<unsigned char> window_;  ///< One window's bytes.
};

/// Entropy in nats of the byte frequencies of a file: what a
/// model that knows only how often each byte occurs would score.
[[nodiscard]] double unigram_entropy(const std::filesystem::path& file);

}  // namespace sluice::engine
