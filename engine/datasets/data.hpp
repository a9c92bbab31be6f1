// Training text: cut into windows, whose order is shuffled. ByteText reads a file's bytes as
// tokens.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/datasets/data_summary.hpp"
#include "engine/datasets/sequence_layout.hpp"
#include "engine/datasets/token_source.hpp"
#include "sim/units.hpp"

namespace sluice::engine {

/// The two numbers that determine the order of a shuffle: the run's seed, and the epoch.
struct ShuffleKey {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
};

/// Where a shuffle puts `index`: a bijection of 0 .. size - 1 fixed by the key. A four-round
/// Feistel network on the smallest even number of bits, applied again while its result is not below
/// `size` (M. Luby, C. Rackoff 1988; cycle walking: J. Black, P. Rogaway 2002). Needs no memory.
[[nodiscard]] std::int64_t shuffled(std::int64_t index, std::int64_t size, ShuffleKey key);

/// What is recorded of the chat template that rendered a text's conversations.
struct ChatFacts {
  std::string jinja2;  ///< Version of the Python library jinja2.
  /// Special token behind the assistant's turns; none without.
  std::optional<std::string> turn_end;
  /// Jinja sources of the template by name, as ChatTemplate::sources has them.
  std::map<std::string, std::string> sources;
};

/// Training text cut into windows of seq_len + 1 tokens that overlap by one: window w is tokens w
/// seq_len to (w + 1) seq_len of one stream. Windows without a learnt target are left out. The last
/// twentieth of the others (at least one) is validation, the rest training. Subclasses may instead
/// lay documents into sequences, each of which is a window then.
class WindowedText : public TokenSource {
 public:
  [[nodiscard]] std::int64_t training_windows() const { return training_; }
  [[nodiscard]] std::int64_t validation_windows() const { return windows_ - training_; }
  /// Number of windows that are neither training nor validation because none of their targets is
  /// learnt.
  [[nodiscard]] std::int64_t left_out_windows() const { return left_out_; }
  [[nodiscard]] std::int64_t seq_len() const { return seq_len_; }
  [[nodiscard]] std::int64_t tokens() const { return tokens_; }

  /// Index of the training window that the run reads as its sequence number `position` (from 0): a
  /// pure function of seed, epoch = position / training_windows(), and position within the epoch.
  [[nodiscard]] std::int64_t training_window(std::int64_t position) const;

  /// Reads training sequences in the order of the run, from number `position` (from 0) on: as many
  /// as `inputs` and `targets`, [n, seq_len] each, hold. Throws EnvironmentError if the file can no
  /// longer be read.
  void read(std::int64_t position, std::span<std::int32_t> inputs,
            std::span<std::int32_t> targets) override;
  /// Reads validation windows `first` to first + n - 1, in file order, into `inputs` and `targets`,
  /// [n, seq_len] each.
  void read_validation(std::int64_t first, std::span<std::int32_t> inputs,
                       std::span<std::int32_t> targets);

  /// How many sequences packing=documents would make of the same documents; none where documents
  /// are packed already, or are one stream.
  [[nodiscard]] virtual std::optional<PackedSequences> if_packed() const { return std::nullopt; }
  /// Number of places that hold a token, in all sequences of training and validation; the others
  /// are padding.
  [[nodiscard]] virtual std::int64_t used_places() const {
    return (training_windows() + validation_windows()) * seq_len();
  }

  /// SHA-256 of everything that decides the sequences besides seq_len and seed, such as the bytes
  /// of the data and of the tokenizer, the packing, and which windows are left out.
  [[nodiscard]] virtual std::string hash() const = 0;
  /// What is recorded of the chat template; none where the text has no conversations.
  [[nodiscard]] virtual std::optional<ChatFacts> chat() const { return std::nullopt; }
  /// The hash that Sluice 0.1.0, which left no windows out, recorded for these data: a run that it
  /// began is recognised by it. None where it is `hash()`.
  [[nodiscard]] virtual std::optional<std::string> hash_of_all_windows() const {
    return std::nullopt;
  }
  /// Takes the windows that were left out back into the order, so that a run of Sluice 0.1.0, which
  /// began with them, goes on bit for bit. Call it before the first read.
  void take_all_windows();
  /// Entropy, in nats, of the frequencies of learnt tokens: the loss of a model that knows only
  /// these.
  [[nodiscard]] virtual double unigram_entropy() const = 0;
  /// One more than the largest token id in the data.
  [[nodiscard]] virtual std::int64_t vocabulary() const = 0;
  /// The first token of the data whose id is not below `vocabulary`, the model's, as "PLACE: token
  /// N"; none if there is none, or where the data name no places.
  [[nodiscard]] virtual std::optional<std::string> token_beyond(std::int64_t /*vocabulary*/) const {
    return std::nullopt;
  }
  /// What the text is, for people: "bytes of FILE", or "tokens of FILE by TOKENIZER".
  [[nodiscard]] virtual std::string description() const = 0;
  /// Everything about the data that can be shown before training, with the first `shown_rows` rows
  /// as they are trained (none for bytes). Reads those rows and all tokens.
  [[nodiscard]] virtual DataSummary summary(std::int64_t shown_rows) const = 0;

 protected:
  WindowedText(std::int64_t seq_len, std::int64_t seed);
  /// A summary with the fields that any text has: numbers of tokens, sequences and places.
  [[nodiscard]] DataSummary sizes() const;
  /// Cuts a stream of `tokens` tokens into windows, and these into training and validation. Throws
  /// BadRequest naming `file` if they make fewer than two windows; the message calls tokens
  /// `token_name`, such as "bytes".
  void cut(const std::filesystem::path& file, std::int64_t tokens, const char* token_name);
  /// Leaves out every window for which `learns` is false. Call it after `cut` or `set_windows`. The
  /// rest is divided into training and validation anew; after `set_windows` each window stays in
  /// its part, where both keep one. Throws BadRequest naming `file` if fewer than two windows
  /// remain.
  void leave_out(const std::filesystem::path& file,
                 const std::function<bool(std::int64_t window)>& learns);
  /// Sets the numbers of windows of training and of validation directly, and the number of tokens
  /// in the data; for sequences that are not windows of one stream, instead of `cut`.
  void set_windows(std::int64_t training, std::int64_t validation, std::int64_t tokens);
  /// Reads window `window`, counted with those that are left out: seq_len inputs and seq_len
  /// targets.
  virtual void read_window(std::int64_t window, std::int32_t* inputs, std::int32_t* targets) = 0;

 private:
  std::int64_t seq_len_;
  std::uint64_t seed_;
  std::int64_t tokens_ = 0;
  /// Divides `windows` windows into training and, the last twentieth, validation.
  void divide(std::int64_t windows);
  /// Number, counted with those that are left out, of window `window` of those that are read.
  [[nodiscard]] std::int64_t number_of(std::int64_t window) const {
    return read_.empty() ? window : read_[static_cast<std::size_t>(window)];
  }

  std::int64_t windows_ = 0;   ///< Number of windows that are read, in training and validation.
  std::int64_t training_ = 0;  ///< Number of windows that are for training, among windows_.
  bool divided_ = false;       ///< Whether set_windows stated how many windows are training.
  std::int64_t left_out_ = 0;
  /// Numbers of the windows that are read; empty if none is left out.
  std::vector<std::int64_t> read_;
};

/// A text file read as bytes, one token per byte. The file stays on disk; each window is read when
/// it is needed.
class ByteText : public WindowedText {
 public:
  /// Opens `file`, which messages call `name` if that is not empty. Throws BadRequest if it is
  /// missing, not a regular file, or holds fewer than two windows.
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
  std::vector<unsigned char> window_;  ///< Buffer for one window's bytes.
};

/// Share of all places of a text's sequences that hold no token, for people: "12.5 % padding".
[[nodiscard]] std::string padding_text(const WindowedText& text);
/// Entropy, in nats, of a distribution that is given by how often each token occurs.
[[nodiscard]] double entropy_of(std::span<const std::int64_t> counts);
/// Entropy, in nats, of the frequencies of a file's bytes.
[[nodiscard]] double unigram_entropy(const std::filesystem::path& file);

}  // namespace sluice::engine
