// Normalizers: changes made to a text before it is cut.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/tokenizer/aligned_text.hpp"

namespace sluice::engine {

class JsonStep;

/// A step that changes a text as the normalizer of the same name in the tokenizers library does.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(AlignedText& text) const = 0;
};

using Normalizers = std::vector<std::unique_ptr<Normalizer>>;

/// Reads the normalizer `step` of a tokenizer.json and appends its steps. Throws BadRequest naming
/// the field and what is not supported.
void read_normalizer(const JsonStep& step, Normalizers& normalizers);

/// Reads a normalizer of type Precompiled: the replacements that a SentencePiece model carries
/// (precompiled_charsmap).
[[nodiscard]] std::unique_ptr<Normalizer> read_precompiled(const JsonStep& step);
/// Reads a normalizer of type BertNormalizer.
[[nodiscard]] std::unique_ptr<Normalizer> read_bert_normalizer(const JsonStep& step);

}  // namespace sluice::engine
