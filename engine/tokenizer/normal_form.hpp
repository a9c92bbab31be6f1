// Unicode's normalisation forms NFC, NFD, NFKC and NFKD, as the tokenizers library computes them.
#pragma once

#include "engine/tokenizer/aligned_text.hpp"

namespace sluice::engine {

enum class NormalForm { nfc, nfd, nfkc, nfkd };

/// Brings `text` into a normal form: UAX #15 with utf8proc's tables, of which only what Unicode 9
/// knew is used, as the library has it (unicode_properties.hpp).
void normalize(AlignedText& text, NormalForm form);

}  // namespace sluice::engine
