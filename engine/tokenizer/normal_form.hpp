// Unicode normalisation form C (NFC), as the tokenizers library computes it.
#pragma once

#include <string>
#include <string_view>

namespace sluice::engine {

/// NFC of `text` (UTF-8): UAX #15 by utf8proc, except that the marks of unicode_tables.hpp are left
/// where they are.
[[nodiscard]] std::string normal_form_c(std::string_view text);

}  // namespace sluice::engine
