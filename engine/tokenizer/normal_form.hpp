// Unicode's normal form C, as the tokenizers library makes it.
#pragma once

#include <string>
#include <string_view>

namespace sluice::engine {

/// `text` (UTF-8) composed: UAX #15's NFC by utf8proc, with the marks of unicode_tables.hpp left
/// where they are.
[[nodiscard]] std::string normal_form_c(std::string_view text);

}  // namespace sluice::engine
