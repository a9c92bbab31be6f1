// Where a step's tokens come from.
#pragma once

#include <cstdint>
#include <span>

namespace sluice::engine {

/// Targets that no loss is taken of. Any negative target is one; these two are told apart when
/// tokens are counted.
inline constexpr std::int32_t kMaskedTarget = -100;  ///< Text that is read and not learnt.
inline constexpr std::int32_t kPaddingTarget = -1;   ///< No text at all.

/// Sequences by their position in the run; a pure function of position, so that every plan, and a
/// resumed run, reads the same tokens.
class TokenSource {
 public:
  virtual ~TokenSource() = default;
  /// Sequences position .. position + n - 1 (from 0): `inputs` and `targets` are [n, seq_len], n =
  /// inputs.size() / seq_len. Must not allocate.
  virtual void read(std::int64_t position, std::span<std::int32_t> inputs,
                    std::span<std::int32_t> targets) = 0;
};

/// Pseudo-random tokens below `vocab`: for measuring, where what is learned does not matter.
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
