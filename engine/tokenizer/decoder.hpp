// Decoders: steps that turn tokens back into text.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace sluice::engine {

class JsonStep;

/// A token that decoders turn back into text, step by step.
struct DecodedToken {
  std::string text;
  /// Whether `text` is the content of an added token, in which letters stand for themselves and not
  /// for bytes.
  bool added = false;
};
using DecodedTokens = std::vector<DecodedToken>;

/// A step that changes tokens as the decoder of the same name in the tokenizers library does,
/// except that ByteLevel leaves the content of added tokens as it is. Only one thread at a time.
class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual void apply(DecodedTokens& tokens) const = 0;
};

using Decoders = std::vector<std::unique_ptr<Decoder>>;

/// Reads the decoder `step` of a tokenizer.json and appends its steps. Throws BadRequest naming the
/// field and what is not supported.
void read_decoder(const JsonStep& step, Decoders& decoders);

}  // namespace sluice::engine
