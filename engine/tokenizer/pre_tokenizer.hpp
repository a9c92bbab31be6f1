// Pre-tokenizers: cuts of the normalised text into pieces that the model takes one by one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/tokenizer/piece.hpp"

namespace sluice::engine {

class JsonStep;

/// A step that cuts, and may change, each piece as the pre-tokenizer of the same name in the
/// tokenizers library does. Only one thread at a time.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  /// Cuts `piece`; pieces are never empty. `places`: whether a changed text keeps its places.
  virtual void cut(const Piece& piece, Places places, const PieceSink& sink) const = 0;
  /// Whether it changes the text.
  [[nodiscard]] virtual bool changes() const { return false; }
  /// Whether it must know where in the original a piece begins.
  [[nodiscard]] virtual bool needs_places() const { return false; }
  /// Where the step ends in writing bytes as letters (byte_letters.hpp), makes it leave the bytes as
  /// they are, for a model whose vocabulary is read as bytes. Returns whether it did.
  virtual bool leave_bytes() { return false; }
};

using PreTokenizers = std::vector<std::unique_ptr<PreTokenizer>>;

/// Reads the pre-tokenizer `step` of a tokenizer.json and appends its steps. Throws BadRequest
/// naming the field and what is not supported.
void read_pre_tokenizer(const JsonStep& step, PreTokenizers& steps);

/// Reads Metaspace.
[[nodiscard]] std::unique_ptr<PreTokenizer> read_metaspace(const JsonStep& step);
/// Reads ByteLevel.
[[nodiscard]] std::unique_ptr<PreTokenizer> read_byte_level(const JsonStep& step);
/// Reads those that cut by kinds of characters: Digits, Punctuation, Whitespace and their like;
/// null for another type.
[[nodiscard]] std::unique_ptr<PreTokenizer> read_character_cut(const JsonStep& step);
/// Sets punctuation apart, which is the second half of BertPreTokenizer.
[[nodiscard]] std::unique_ptr<PreTokenizer> bert_punctuation();

}  // namespace sluice::engine
