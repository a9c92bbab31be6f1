// Forward passes: their graph, their windows, and how tokens are chosen and printed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "engine/forward/generated_text.hpp"
#include "engine/forward/text_loss.hpp"
#include "engine/forward/token_sampler.hpp"

namespace sluice::engine {
namespace {

std::vector<std::int32_t> numbered(std::int64_t count) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(count));
  std::iota(tokens.begin(), tokens.end(), 0);
  return tokens;
}

TEST(TextWindows, EveryTokenButTheFirstCountsOnceWhateverTheStride) {
  for (const std::int64_t length : {2, 3, 8, 9, 10, 23}) {
    const std::vector<std::int32_t> tokens = numbered(length);
    for (const std::int64_t seq_len : {1, 4, 8}) {
      for (std::int64_t stride = 1; stride <= seq_len; ++stride) {
        TextWindows windows(tokens, seq_len, stride);
        std::multiset<std::int32_t> counted;
        for (std::int64_t window = 0; window < windows.count(); ++window) {
          std::vector<std::int32_t> inputs(static_cast<std::size_t>(seq_len)), targets(inputs);
          windows.read(window, inputs, targets);
          for (std::size_t i = 0; i < targets.size(); ++i) {
            if (targets[i] < 0) continue;
            counted.insert(targets[i]);
            // A target follows its input.
            EXPECT_EQ(targets[i], inputs[i] + 1);
          }
        }
        const std::vector<std::int32_t> expected(tokens.begin() + 1, tokens.end());
        EXPECT_TRUE(std::ranges::equal(counted, expected))
            << length << " tokens, windows of " << seq_len << ", " << stride << " apart";
      }
    }
  }
}

TEST(TokenSampler, TakesTheFirstOfTheMostLikelyTokensWithoutTemperature) {
  TokenSampler sampler({});
  EXPECT_EQ(sampler.next(std::vector<float>{0, 3, 1, 3}), 1);
}

TEST(TokenSampler, DrawsInProportionToProbabilities) {
  TokenSampler sampler({.temperature = 1});
  // exp(0) : exp(ln 3) = 1 : 3; of 4000 draws 1000 are expected, with a deviation of 27.
  const std::vector<float> logits{0, std::log(3.0F)};
  int first = 0;
  for (int i = 0; i < 4000; ++i) first += sampler.next(logits) == 0 ? 1 : 0;
  EXPECT_NEAR(first, 1000, 140);
}

TEST(TokenSampler, TopKAndTopPLeaveOutTheUnlikely) {
  const std::vector<float> logits{std::log(0.5F), std::log(0.3F), std::log(0.15F), std::log(0.05F)};
  const auto drawn = [&logits](const SamplerSettings& settings) {
    TokenSampler sampler(settings);
    std::set<std::int32_t> tokens;
    for (int i = 0; i < 500; ++i) tokens.insert(sampler.next(logits));
    return tokens;
  };
  EXPECT_EQ(drawn({.temperature = 1}), (std::set<std::int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(drawn({.temperature = 1, .top_k = 2}), (std::set<std::int32_t>{0, 1}));
  EXPECT_EQ(drawn({.temperature = 1, .top_p = 0.7}), (std::set<std::int32_t>{0, 1}));
  EXPECT_EQ(drawn({.temperature = 1, .top_p = 0.4}), (std::set<std::int32_t>{0}));
}

/// Generated text in which each token is a byte.
GeneratedText bytes_of(std::vector<std::string> stops) {
  return GeneratedText(
      [](std::span<const std::int32_t> tokens) {
        std::string text;
        for (const std::int32_t token : tokens) text.push_back(static_cast<char>(token));
        // Like a tokenizer, shows an unfinished character at the end as U+FFFD.
        if (!text.empty() && text.back() == '\xC3')
          text.replace(text.size() - 1, 1, "\xEF\xBF\xBD");
        return text;
      },
      std::move(stops));
}

TEST(GeneratedText, HoldsBackACharacterThatIsNotWhole) {
  GeneratedText text = bytes_of({});
  EXPECT_EQ(text.add('a'), "a");
  EXPECT_EQ(text.add(0xC3), "");
  EXPECT_EQ(text.add(0xA9), "\xC3\xA9");
  EXPECT_EQ(text.add(0xC3), "");
  EXPECT_EQ(text.finish(), "\xEF\xBF\xBD");
}

TEST(GeneratedText, EndsBeforeAStopAndNeverShowsItsBeginning) {
  GeneratedText text = bytes_of({"end", "nn"});
  EXPECT_EQ(text.add('e'), "");
  EXPECT_EQ(text.add('e'), "e");
  EXPECT_EQ(text.add('n'), "");
  EXPECT_EQ(text.add('x'), "enx");
  EXPECT_EQ(text.add('n'), "");
  EXPECT_FALSE(text.stopped());
  EXPECT_EQ(text.add('n'), "");
  EXPECT_TRUE(text.stopped());
  EXPECT_EQ(text.text(), "eenx");
}

}  // namespace
}  // namespace sluice::engine
