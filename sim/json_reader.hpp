// Reader of JSON texts, linear in the length of the text whatever it nests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "sim/json_document.hpp"

namespace sluice::sim {

/// When a name that an object gives twice is reported: as soon as it is read, or only once the
/// whole text has proved to be JSON.
enum class RepeatedKey : std::uint8_t { at_once, at_the_end };

/// Additional conditions under which a reader refuses a text.
struct JsonRules {
  RepeatedKey repeated_key = RepeatedKey::at_the_end;
  /// Largest number of lists and objects around a value; none for no limit.
  std::optional<std::size_t> most_levels = std::nullopt;
};

/// Why a text was not read.
struct JsonFault {
  enum class Kind : std::uint8_t { syntax, number_beyond_double, repeated_key, depth, size };
  Kind kind;
  /// Number of bytes read up to and including the fault, for `syntax`; 0 for others.
  std::size_t byte = 0;
  std::string detail = {};  ///< The JSON library's message, or the repeated name.

  /// Whether the text might be JSON except for NaN, Infinity or a number that no double holds.
  [[nodiscard]] bool may_be_mended() const {
    return kind == Kind::syntax || kind == Kind::number_beyond_double;
  }
};

/// Reads a text of less than 4 GiB. The document takes 16 bytes per value and a byte for each
/// letter of a text, and stores each name of members once.
[[nodiscard]] std::variant<JsonDocument, JsonFault> read_json(std::string_view text,
                                                              const JsonRules& rules = {});

}  // namespace sluice::sim
