// Tokens for the ranks of one process.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>

#include "engine/datasets/token_source.hpp"

namespace sluice::engine {

/// Tokens that several ranks of a process read, one at a time.
class SharedTokens : public TokenSource {
 public:
  explicit SharedTokens(TokenSource& tokens) : tokens_(tokens) {}
  void read(std::int64_t position, std::span<std::int32_t> inputs,
            std::span<std::int32_t> targets) override {
    const std::lock_guard lock(mutex_);
    tokens_.read(position, inputs, targets);
  }

 private:
  std::mutex mutex_;
  TokenSource& tokens_;
};

}  // namespace sluice::engine
