#include "engine/tokenizer/proto_reader.hpp"

#include <bit>

#include "sim/error.hpp"

namespace sluice::engine {

float ProtoField::as_float() const {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value));
}

ProtoReader::ProtoReader(std::string_view bytes, std::string where)
    : bytes_(bytes), where_(std::move(where)) {}

void ProtoReader::fail() const {
  throw BadRequest(where_ + ": is not a model of SentencePiece: download it again");
}

std::string_view ProtoReader::take(std::uint64_t count) {
  if (count > bytes_.size()) fail();
  const std::string_view taken = bytes_.substr(0, count);
  bytes_.remove_prefix(count);
  return taken;
}

std::uint64_t ProtoReader::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(take(1).front());
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return value;
  }
  fail();
}

std::optional<ProtoField> ProtoReader::next() {
  if (bytes_.empty()) return std::nullopt;
  const std::uint64_t key = varint();
  ProtoField field;
  field.number = key >> 3U;
  const auto fixed = [&](std::uint64_t count) {
    const std::string_view bits = take(count);
    for (std::size_t i = bits.size(); i-- > 0;) {
      field.value = field.value << 8U | static_cast<unsigned char>(bits[i]);
    }
  };
  switch (key & 7U) {
    case 0:
      field.value = varint();
      break;
    case 1:
      fixed(8);
      break;
    case 2:
      field.bytes = take(varint());
      break;
    case 5:
      fixed(4);
      break;
    default:
      fail();
  }
  return field;
}

}  // namespace sluice::engine
