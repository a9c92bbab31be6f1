#include "engine/tokenizer/tokenizer.hpp"
#include "tests/fuzz/fuzzed.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice;
  using engine::Tokenizer;
  fuzz::may_refuse([&] {
    Tokenizer tokenizer(engine::read_tokenizer(fuzz::text_of(data, size), "tokenizer.json"));
    constexpr const char* kText =
        "Don't stop: 123 na\xC3\xAFve caf\xC3\xA9s<|end|>\n\n  \xF0\x9F\x98\x80";
    const auto ids = tokenizer.encode(kText, Tokenizer::SpecialTokens::around);
    for (const auto& token : tokenizer.encode_with_offsets(kText)) {
      check(token.begin <= token.end && token.end <= std::string_view(kText).size(),
            "a token has a place in the text");
    }
    (void)tokenizer.decode(ids, Tokenizer::Special::kept);
  });
  return 0;
}
