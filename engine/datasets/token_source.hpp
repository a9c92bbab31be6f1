// Source of a training step's tokens.
#pragma once

#include <cstdint>
#include <span>

namespace sluice::engine {

/// Target of a token that is read but not learnt: the loss leaves it out, as every negative target.
/// Its value differs from that of padding only for counting tokens.
inline constexpr std::int32_t kMaskedTarget = -100;
/// Target of a place that holds no token but padding; the loss leaves it out.
inline constexpr std::int32_t kPaddingTarget = -1;

/// Source of the sequences that training reads, numbered in the order of the run. Each is a pure
/// function of its number, so that every plan, and a resumed run, reads the same tokens.
class TokenSource {
 public:
  virtual ~TokenSource() = default;
  /// Reads sequences number `position` to position + n - 1 (from 0) into `inputs` and `targets`,
  /// [n, seq_len] each, where n = inputs.size() / seq_len. Must not allocate.
  virtual void read(std::int64_t position, std::span<std::int32_t> inputs,
                    std::span<std::int32_t> targets) = 0;
};

/// Sequences of pseudo-random tokens below `vocab`, for measurements where what is learnt does not
/// matter.
class SyntheticTokens : public TokenSource {
 public:
  SyntheticTokens(std::int64_t vocab, std::uint64_t seed) : vocab_(vocab), seed_(seed) {}
  void read(std::int64_t position, std::span<std::int32_t> inputs,
            std::span<std::int32_t> targets) override;

 private:
  std::int64_t vocab_;
  std::uint64_t seed_;
};

}  // namespace sluice::engine
