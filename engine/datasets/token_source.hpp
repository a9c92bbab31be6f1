// Source of a training step's tokens.
#pragma once

#include <cstdint>
#include <span>

namespace sluice::engine {

/// Targets that the loss leaves out. Every negative target is left out; these two values differ
/// only for counting tokens.
/// Target of a token that is read but not learnt.
inline constexpr std::int32_t kMaskedTarget = -100;
inline constexpr std::int32_t kPaddingTarget = -1;  ///< Target of padding.

/// Token sequences indexed by their position in the run. They are a pure function of position, so
/// that every plan, and a resumed run, reads the same tokens.
class TokenSource {
 public:
  virtual ~TokenSource() = default;
  /// Reads sequences position .. position + n - 1 (from 0) into `inputs` and `targets`, [n,
  /// seq_len] each, where n = inputs.size() / seq_len. Must not allocate.
  virtual void read(std::int64_t position, std::span<std::int32_t> inputs,
                    std::span<std::int32_t> targets) = 0;
};

/// Pseudo-random tokens below `vocab`, for measurements where what is learnt does not matter.
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
