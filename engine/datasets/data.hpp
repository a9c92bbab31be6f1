// Training text: cut into windows, whose order is shuffled. ByteText reads a file's bytes as
// tokens.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "engine/datasets/data_summary.hpp"
#include "engine/datasets/token_source.hpp"
#include "sim/units.hpp"

namespace sluice::engine {

/// The two numbers that determine a shuffled order.
struct ShuffleKey {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
};

/// A bijection of 0 .. size - 1 fixed by the key: a four-round Feistel network on the
/// smallest even number of bits, walked until it lands inside (M. Luby, C. Rackoff 1988; cycle
/// walking: J. Black, P. Rogaway 2002). Needs no memory.
[[nodiscard]] std::int64_t shuffled(std::int64_t index, std::int64_t size, ShuffleKey key);

/// Text cut into windows of seq_len + 1 tokens that overlap by one: window w is tokens [w seq_len,
/// (w + 1) seq_len] of one stream. The last twentieth of the windows (at least one) is validation,
/// the rest training.
class WindowedText : public TokenSource {
 public:
  [[nodiscard]] std::int64_t training_windows() const { return training_; }
  [[nodiscard]] std::int64_t validation_windows() const { return windows_ - training_; }
  [[nodiscard]] std::int64_t seq_len() const { return seq_len_; }
  [[nodiscard]] std::int64_t tokens() const { return tokens_; }

  /// Index of the window that is sequence number `position` (from 0) of the whole run: a pure
  /// function of seed, epoch = position / training_windows, and position within the epoch.
  [[nodiscard]] std::int64_t training_window(std::int64_t position) const;

  /// Reads training sequences. Throws EnvironmentError if the file can no longer be read.
  void read(std::int64_t position, std::span<std::int32_t> inputs,
            std::span<std::int32_t> targets) override;
  /// Reads validation windows first .. first + n - 1, in file order.
  void read_validation(std::int64_t first, std::span<std::int32_t> inputs,
                       std::span<std::int32_t> targets);

  /// SHA-256 of everything the tokens depend on: the file's bytes, and the tokenizer's if there is
  /// one.
  [[nodiscard]] virtual std::string hash() const = 0;
  /// Entropy, in nats, of the tokens' frequencies: the loss of a model that knows only these.
  [[nodiscard]] virtual double unigram_entropy() const = 0;
  /// One more than the largest token.
  [[nodiscard]] virtual std::int64_t vocabulary() const = 0;
  /// Description for people: "bytes of FILE", or "tokens of FILE by TOKENIZER".
  [[nodiscard]] virtual std::string description() const = 0;
  /// Everything about the data that can be shown before training, with the first `shown_rows` rows
  /// as they are trained. Reads those rows and all tokens.
  [[nodiscard]] virtual DataSummary summary(std::int64_t shown_rows) const = 0;

 protected:
  /// The summary of one text of `tokens` tokens called `name`, all of which are learnt.
  [[nodiscard]] DataSummary text_summary(const std::filesystem::path& name,
                                         const std::filesystem::path& file) const;
  WindowedText(std::int64_t seq_len, std::int64_t seed);
  /// Sets the number of windows from the number of `tokens`. Throws BadRequest naming `file` if
  /// they make fewer than two windows; the message calls tokens `token_name`, such as "bytes".
  void cut(const std::filesystem::path& file, std::int64_t tokens, const char* token_name);
  /// Sets the numbers of windows directly, for sequences that are not windows of one stream;
  /// replaces `cut`.
  void set_windows(std::int64_t training, std::int64_t validation, std::int64_t tokens);
  /// Reads the tokens of window `window`: seq_len inputs and seq_len targets.
  virtual void read_window(std::int64_t window, std::int32_t* inputs, std::int32_t* targets) = 0;

 private:
  std::int64_t seq_len_;
  std::uint64_t seed_;
  std::int64_t tokens_ = 0;
  std::int64_t windows_ = 0;
  std::int64_t training_ = 0;
};

/// A text file read as bytes, one token per byte. The file stays on disk; each window is read when
/// it is needed.
class ByteText : public WindowedText {
 public:
  /// Opens `file`, which messages call `name` if that is given. Throws BadRequest if it is missing,
  /// not a regular file, or holds fewer than two windows.
  ByteText(const std::filesystem::path& file, std::int64_t seq_len, std::int64_t seed,
           const std::filesystem::path& name = {});
  ~ByteText() override;
  ByteText(const ByteText&) = delete;  // Owns a file descriptor.
  ByteText& operator=(const ByteText&) = delete;

  [[nodiscard]] Bytes size() const { return Bytes(tokens()); }
  [[nodiscard]] std::string hash() const override;
  [[nodiscard]] double unigram_entropy() const override;
  [[nodiscard]] std::int64_t vocabulary() const override { return 256; }
  [[nodiscard]] std::string description() const override;
  [[nodiscard]] DataSummary summary(std::int64_t shown_rows) const override;

 private:
  void read_window(std::int64_t window, std::int32_t* inputs, std::int32_t* targets) override;

  std::filesystem::path file_;
  std::filesystem::path name_;
  int descriptor_ = -1;
  std::vector<unsigned char> window_;  ///< One window's bytes.
};

/// Entropy, in nats, of the distribution that token counts describe.
[[nodiscard]] double entropy_of(std::span<const std::int64_t> counts);
/// Entropy, in nats, of the frequencies of a file's bytes.
[[nodiscard]] double unigram_entropy(const std::filesystem::path& file);

}  // namespace sluice::engine
