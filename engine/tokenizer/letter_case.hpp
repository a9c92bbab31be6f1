// Lower case as the Rust standard library has it.
#pragma once

#include "engine/tokenizer/aligned_text.hpp"

namespace sluice::engine {

/// Replaces each character by its lower case (Unicode 17, without regard to what stands around it).
void lower(AlignedText& text);

}  // namespace sluice::engine
