// Reader of protocol buffers' wire format (protobuf.dev, "Encoding").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::engine {

/// One field of a message in protocol buffers' wire format.
struct ProtoField {
  std::uint64_t number = 0;
  std::uint64_t value = 0;  ///< A whole number, or the bits of a 32- or 64-bit value.
  std::string_view bytes;   ///< Content of a text or of a message within the message.

  [[nodiscard]] float as_float() const;  ///< The value as a float.
};

/// The fields of one message, in order.
class ProtoReader {
 public:
  /// `bytes` must live as long as the fields that are read.
  ProtoReader(std::string_view bytes, std::string where);
  /// The next field; none at the end. Throws BadRequest `WHERE: ...` where the bytes are no
  /// message.
  [[nodiscard]] std::optional<ProtoField> next();
  /// Reader of the fields of the message that `field` holds.
  [[nodiscard]] ProtoReader inside(const ProtoField& field) const { return {field.bytes, where_}; }

 private:
  std::uint64_t varint();
  std::string_view take(std::uint64_t count);
  [[noreturn]] void fail() const;

  std::string_view bytes_;
  std::string where_;
};

}  // namespace sluice::engine
