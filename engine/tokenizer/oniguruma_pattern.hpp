// Translation of regular expressions from Oniguruma's syntax, which tokenizer.json files are
// written in, to PCRE2's.
#pragma once

#include <string>

#include "engine/tokenizer/code_point_set.hpp"

namespace sluice::engine {

/// `pattern` in PCRE2's syntax, for PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE. Classes and properties
/// match what they match in Oniguruma, whose Unicode tables are newer (unicode_properties.hpp).
/// Throws BadRequest `WHERE: ...` naming what is not supported.
[[nodiscard]] std::string to_pcre2(const std::string& pattern, const std::string& where);

/// A PCRE2 class that matches exactly the members of `set`.
[[nodiscard]] std::string pcre2_class(const CodePointSet& set);

}  // namespace sluice::engine
