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

/// Conditions besides JSON's own under which a reader refuses a text.
struct JsonRules {
  RepeatedKey repeated_key = RepeatedKey::at_the_end;
  /// Largest number of lists and objects that may surround a value; none for no limit.
  std::optional<std::size_t> most_levels = std::nullopt;
};

/// Why a text was not read: the kind of fault, and where or what it is.
struct JsonFault {
  enum class Kind : std::uint8_t { syntax, number_beyond_double, repeated_key, depth, size };
  Kind kind;
  /// Number of bytes read up to and including the fault, for kind `syntax`; 0 for the other kinds.
  std::size_t byte = 0;
  /// The JSON library's message for `syntax`, or the name given twice for `repeated_key`.
  std::string detail = {};

  /// Whether the text may be JSON but for NaN, Infinity or a number beyond double, which
  /// parse_json() can replace and then parse the text.
  [[nodiscard]] bool may_be_mended() const {
    return kind == Kind::syntax || kind == Kind::number_beyond_double;
  }
};

/// Reads a JSON text of less than 4 GiB. The document takes 16 bytes a value and a byte for each
/// byte of its texts, and stores each name of members once.
[[nodiscard]] std::variant<JsonDocument, JsonFault> read_json(std::string_view text,
                                                              const JsonRules& rules = {});

}  // namespace sluice::sim
