// Training text: cut into windows, whose order is shuffled. ByteText reads a file's bytes as
// tokens.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/datasets/data_summary.hpp"
#include "engine/datasets/sequence_layout.hpp"
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

/// Facts about the chat template that rendered a text's conversations.
struct ChatFacts {
  std::string jinja2;                   ///< Version of the library.
  std::optional<std::string> turn_end;  ///< Special token that ends the assistant's turns.
};

/// Text cut into windows of seq_len + 1 tokens that overlap by one: window w is tokens [w seq_len,
/// (w + 1) seq_len] of one stream. Windows without a learnt target are left out. The last twentieth
/// of the others (at least one) is validation, the rest training.
class WindowedText : public TokenSource {
 public:
  [[nodiscard]] std::int64_t training_windows() const { return training_; }
  [[nodiscard]] std::int64_t validation_windows() const { return windows_ - training_; }
  /// Number of windows that belong to neither part because none of their targets is learnt.
  [[nodiscard]] std::int64_t left_out_windows() const { return left_out_; }
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

  /// The sequences that packing=documents would make; none where documents are packed already, or
  /// are one stream.
  [[nodiscard]] virtual std::optional<PackedSequences> if_packed() const { return std::nullopt; }
  /// Number of places that hold a token, in all sequences that are read; the others are padding.
  [[nodiscard]] virtual std::int64_t used_places() const {
    return (training_windows() + validation_windows()) * seq_len();
  }

  /// SHA-256 of everything the sequences depend on: the file's bytes, the tokenizer's if there is
  /// one, and which windows are left out.
  [[nodiscard]] virtual std::string hash() const = 0;
  /// The chat template's facts, where the text has conversations.
  [[nodiscard]] virtual std::optional<ChatFacts> chat() const { return std::nullopt; }
  /// The hash that runs of 0.1.0 recorded, which left no window out and described chat templates
  /// that they knew; none where it is `hash()`.
  [[nodiscard]] virtual std::optional<std::string> hash_of_all_windows() const {
    return std::nullopt;
  }
  /// Takes the windows that were left out back into the order, so that a run that began with them
  /// goes on bit for bit. Call it before the first read.
  void take_all_windows();
  /// Entropy, in nats, of the tokens' frequencies: the loss of a model that knows only these.
  [[nodiscard]] virtual double unigram_entropy() const = 0;
  /// One more than the largest token.
  [[nodiscard]] virtual std::int64_t vocabulary() const = 0;
  /// The first token that is not below `vocabulary`, as "PLACE: token N"; none where the data name
  /// no places.
  [[nodiscard]] virtual std::optional<std::string> token_beyond(std::int64_t /*vocabulary*/) const {
    return std::nullopt;
  }
  /// Description for people: "bytes of FILE", or "tokens of FILE by TOKENIZER".
  [[nodiscard]] virtual std::string description() const = 0;
  /// Everything about the data that can be shown before training, with the first `shown_rows` rows
  /// as they are trained. Reads those rows and all tokens.
  [[nodiscard]] virtual DataSummary summary(std::int64_t shown_rows) const = 0;

 protected:
  WindowedText(std::int64_t seq_len, std::int64_t seed);
  /// The fields of a summary that any text has: its tokens, sequences and places.
  [[nodiscard]] DataSummary sizes() const;
  /// Sets the number of windows from the number of `tokens`. Throws BadRequest naming `file` if
  /// they make fewer than two windows; the message calls tokens `token_name`, such as "bytes".
  void cut(const std::filesystem::path& file, std::int64_t tokens, const char* token_name);
  /// Leaves the windows out of which `learns` is false. Call it after `cut` or `set_windows`, whose
  /// division into training and validation stays where both keep a window. Throws BadRequest
  /// naming `file` if fewer than two windows remain.
  void leave_out(const std::filesystem::path& file,
                 const std::function<bool(std::int64_t window)>& learns);
  /// Sets the numbers of windows directly, for sequences that are not windows of one stream;
  /// replaces `cut`.
  void set_windows(std::int64_t training, std::int64_t validation, std::int64_t tokens);
  /// Reads the tokens of window `window` of all: seq_len inputs and seq_len targets.
  virtual void read_window(std::int64_t window, std::int32_t* inputs, std::int32_t* targets) = 0;

 private:
  std::int64_t seq_len_;
  std::uint64_t seed_;
  std::int64_t tokens_ = 0;
  /// Divides `windows` windows into training and validation.
  void divide(std::int64_t windows);
  /// Number in the file of window `window` of those that are read.
  [[nodiscard]] std::int64_t number_of(std::int64_t window) const {
    return read_.empty() ? window : read_[static_cast<std::size_t>(window)];
  }

  std::int64_t windows_ = 0;   ///< Number of windows that are read.
  std::int64_t training_ = 0;  ///< Number of those for training.
  bool divided_ = false;       ///< Whether set_windows stated which windows are training.
  std::int64_t left_out_ = 0;
  std::vector<std::int64_t> read_;  ///< Windows that are read; empty if none is left out.
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

/// Share of a text's places that hold no token, as "12.5 % padding".
[[nodiscard]] std::string padding_text(const WindowedText& text);
/// Entropy, in nats, of the distribution that token counts describe.
[[nodiscard]] double entropy_of(std::span<const std::int64_t> counts);
/// Entropy, in nats, of the frequencies of a file's bytes.
[[nodiscard]] double unigram_entropy(const std::filesystem::path& file);

}  // namespace sluice::engine
