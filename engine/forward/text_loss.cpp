#include "engine/forward/text_loss.hpp"

#include <algorithm>

#include "sim/error.hpp"

namespace sluice::engine {
namespace {

constexpr std::int32_t kIgnored = -1;

}  // namespace

TextWindows::TextWindows(std::span<const std::int32_t> tokens, std::int64_t seq_len,
                         std::int64_t stride)
    : tokens_(tokens), seq_len_(seq_len), stride_(stride) {
  check(std::ssize(tokens) >= 2 && stride >= 1 && stride <= seq_len, "a text has windows");
  const std::int64_t beyond = std::max<std::int64_t>(0, predicted() - seq_len);
  count_ = 1 + (beyond + stride - 1) / stride;
}

void DatasetWindows::read(std::int64_t window, std::span<std::int32_t> inputs,
                          std::span<std::int32_t> targets) {
  const std::int64_t training = text_.training_windows();
  if (window < training) return text_.read(window, inputs, targets);
  text_.read_validation(window - training, inputs, targets);
}

void TextWindows::read(std::int64_t window, std::span<std::int32_t> inputs,
                       std::span<std::int32_t> targets) {
  std::ranges::fill(inputs, 0);
  std::ranges::fill(targets, kIgnored);
  const std::int64_t begin = window * stride_;
  const std::int64_t known = std::min(seq_len_, std::ssize(tokens_) - begin);
  const auto own = tokens_.subspan(static_cast<std::size_t>(begin));
  std::ranges::copy(own.first(static_cast<std::size_t>(known)), inputs.begin());
  // Targets of the previous window end with the successor of its last input.
  const std::int64_t counted = window == 0 ? 0 : seq_len_ - stride_;
  const std::int64_t end = std::min(seq_len_, predicted() - begin);
  for (std::int64_t i = counted; i < end; ++i) {
    targets[static_cast<std::size_t>(i)] = own[static_cast<std::size_t>(i + 1)];
  }
}

TextLoss::TextLoss(const planner::Job& job, LossWindows& windows) : job_(job), windows_(windows) {}

std::int64_t TextLoss::passes() const {
  return (windows_.count() + job_.batch_size - 1) / job_.batch_size;
}

void TextLoss::fill(std::span<std::int32_t> tokens, std::int64_t pass) {
  const auto length = static_cast<std::size_t>(job_.seq_len);
  const std::size_t all = tokens.size() / 2;
  for (std::size_t at = 0; at < all; at += length) {
    const std::int64_t window =
        (pass - 1) * job_.batch_size + static_cast<std::int64_t>(at / length);
    const std::span inputs = tokens.subspan(at, length);
    const std::span targets = tokens.subspan(all + at, length);
    if (window < windows_.count()) {
      windows_.read(window, inputs, targets);
    } else {
      std::ranges::fill(inputs, 0);
      std::ranges::fill(targets, kIgnored);
    }
    predicted_ += std::ranges::count_if(targets, [](std::int32_t each) { return each >= 0; });
  }
}

void TextLoss::finish(std::span<const std::byte> result, std::int64_t /*pass*/) {
  const std::span sums(reinterpret_cast<const double*>(result.data()),
                       result.size() / sizeof(double));
  for (const double sum : sums) nats_ += sum;
}

}  // namespace sluice::engine
