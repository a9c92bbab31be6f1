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
  /// Cuts `piece` and passes the parts, none of them empty, to `sink`. `places`: whether parts of a
  /// changed text say which bytes of the original they stand for.
  virtual void cut(const Piece& piece, Places places, const PieceSink& sink) const = 0;
  /// Whether the step changes the text besides cutting it.
  [[nodiscard]] virtual bool changes() const { return false; }
  /// Whether the step must know where in the original text a piece begins.
  [[nodiscard]] virtual bool needs_places() const { return false; }
  /// Where the step ends in writing bytes as letters (byte_letters.hpp), makes it leave the bytes
  /// as they are, for a model whose vocabulary is read as bytes. Returns whether it did.
  virtual bool leave_bytes() { return false; }
};

using PreTokenizers = std::vector<std::unique_ptr<PreTokenizer>>;

/// Reads the pre-tokenizer `step` of a tokenizer.json and appends its steps. Throws BadRequest
/// naming the field and what is not supported.
void read_pre_tokenizer(const JsonStep& step, PreTokenizers& steps);

/// Reads a pre-tokenizer of type Metaspace.
[[nodiscard]] std::unique_ptr<PreTokenizer> read_metaspace(const JsonStep& step);
/// Reads a pre-tokenizer of type ByteLevel.
[[nodiscard]] std::unique_ptr<PreTokenizer> read_byte_level(const JsonStep& step);
/// Reads a pre-tokenizer that cuts by kinds of characters: Digits, Punctuation, Whitespace and
/// their like; null if `step` is of another type.
[[nodiscard]] std::unique_ptr<PreTokenizer> read_character_cut(const JsonStep& step);
/// Pre-tokenizer that makes each punctuation character a piece of its own: the second half of
/// BertPreTokenizer.
[[nodiscard]] std::unique_ptr<PreTokenizer> bert_punctuation();

}  // namespace sluice::engine
