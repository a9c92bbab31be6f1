#include "engine/model_files/safetensors.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "engine/model_files/strict_json.hpp"
#include "planner/files/lfs_pointer.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using nlohmann::json;

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kMostHeaderBytes = 100'000'000;
constexpr int kHeaderLevels = 3;

/// A dtype of the format (safetensors 0.6).
struct KnownType {
  std::string_view name;
  std::size_t bits;
};
constexpr std::array kKnownTypes = {
    KnownType{"BOOL", 8},        KnownType{"F4", 4},          KnownType{"F6_E2M3", 6},
    KnownType{"F6_E3M2", 6},     KnownType{"U8", 8},          KnownType{"I8", 8},
    KnownType{"F8_E5M2", 8},     KnownType{"F8_E4M3", 8},     KnownType{"F8_E8M0", 8},
    KnownType{"F8_E4M3FNUZ", 8}, KnownType{"F8_E5M2FNUZ", 8}, KnownType{"I16", 16},
    KnownType{"U16", 16},        KnownType{"F16", 16},        KnownType{"BF16", 16},
    KnownType{"I32", 32},        KnownType{"U32", 32},        KnownType{"F32", 32},
    KnownType{"C64", 64},        KnownType{"F64", 64},        KnownType{"I64", 64},
    KnownType{"U64", 64}};

std::optional<ElementType> loadable(std::string_view dtype) {
  for (const ElementType type : {ElementType::bf16, ElementType::fp16, ElementType::fp32}) {
    if (dtype == safetensors_name(type)) return type;
  }
  return std::nullopt;
}

/// Reads one tensor's description; errors name file and tensor.
class EntryReader {
 public:
  EntryReader(const std::string& where, const std::string& name, const json& value)
      : where_(where), name_(name), value_(value) {}

  TensorEntry read(std::size_t data_bytes) const {
    if (!value_.is_object()) fail("is not an object");
    TensorEntry entry;
    const json& dtype = field("dtype");
    if (!dtype.is_string()) fail("dtype must be a string");
    entry.dtype = dtype.get<std::string>();
    entry.type = loadable(entry.dtype);
    for (const json& size : list("shape")) entry.shape.push_back(to_size(size, "shape"));
    const json& offsets = list("data_offsets");
    if (offsets.size() != 2) fail("data_offsets must be two numbers");
    entry.begin = static_cast<std::size_t>(to_size(offsets[0], "data_offsets"));
    entry.end = static_cast<std::size_t>(to_size(offsets[1], "data_offsets"));
    if (entry.begin > entry.end) fail("data_offsets run backwards");
    if (entry.end > data_bytes) {
      fail("ends at byte " + std::to_string(entry.end) + " of " + std::to_string(data_bytes) +
           ": the file is cut short");
    }
    if (bytes_of(entry) != entry.end - entry.begin) {
      fail("takes " + std::to_string(entry.end - entry.begin) + " bytes, and its shape and dtype " +
           "need " + std::to_string(bytes_of(entry)));
    }
    return entry;
  }

  [[noreturn]] void fail(const std::string& reason) const {
    throw BadRequest(where_ + ": tensor " + name_ + ": " + reason);
  }

 private:
  const json& field(const char* key) const {
    const auto found = value_.find(key);
    if (found == value_.end()) fail(std::string(key) + " is missing");
    return *found;
  }
  const json& list(const char* key) const {
    const json& value = field(key);
    if (!value.is_array()) fail(std::string(key) + " must be a list");
    return value;
  }
  std::int64_t to_size(const json& value, const char* key) const {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kMost) {
      fail(std::string(key) + " must hold whole numbers of at least 0");
    }
    return static_cast<std::int64_t>(value.get<std::uint64_t>());
  }
  std::size_t bytes_of(const TensorEntry& entry) const {
    const auto known = std::ranges::find(kKnownTypes, entry.dtype, &KnownType::name);
    if (known == kKnownTypes.end()) fail("dtype \"" + entry.dtype + "\" is unknown");
    std::size_t bits = known->bits;
    for (const std::int64_t size : entry.shape) {
      if (__builtin_mul_overflow(bits, static_cast<std::size_t>(size), &bits)) {
        fail("its shape is larger than any file");
      }
    }
    if (bits % 8 != 0) fail("its shape does not end at a whole byte");
    return bits / 8;
  }

  const std::string& where_;
  const std::string& name_;
  const json& value_;
};

void read_metadata(const json& value, const std::string& where, SafetensorsHeader& header) {
  if (!value.is_object()) throw BadRequest(where + ": __metadata__ is not an object");
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) {
      throw BadRequest(where + ": __metadata__: \"" + key + "\" is not a string");
    }
    header.metadata.emplace(key, text.get<std::string>());
  }
}

/// Checks that tensors follow one another without gaps and fill the file.
void check_places(const SafetensorsHeader& header, std::size_t data_bytes,
                  const std::string& where) {
  using Place = std::pair<const std::string*, const TensorEntry*>;
  std::vector<Place> places;
  for (const auto& [name, entry] : header.tensors) places.emplace_back(&name, &entry);
  std::ranges::sort(places, {}, [](const Place& place) {
    return std::pair(place.second->begin, place.second->end);
  });
  std::size_t at = 0;
  for (const auto& [name, entry] : places) {
    if (entry->begin != at) {
      throw BadRequest(
          where + ": tensor " + *name +
          (entry->begin < at ? ": overlaps the one before it" : ": leaves a hole before it"));
    }
    at = entry->end;
  }
  if (at != data_bytes) {
    throw BadRequest(where + ": its tensors end at byte " + std::to_string(at) + " of " +
                     std::to_string(data_bytes) + ": the file is longer than its header says");
  }
}

/// Kind of a file that is no safetensors file, by the bytes that it begins with.
std::string kind_by_beginning(std::string_view text, std::uint64_t length) {
  struct Beginning {
    std::string_view bytes;
    const char* kind;
  };
  using namespace std::string_view_literals;
  constexpr std::array kBeginnings = {
      Beginning{"PK\x03\x04"sv, "it is a PyTorch file (a zip of pickles): save it as safetensors"},
      Beginning{"\x80\x02"sv, "it is a pickle: save it as safetensors"},
      Beginning{"\x80\x04"sv, "it is a pickle: save it as safetensors"},
      Beginning{"GGUF"sv, "it is a GGUF file: give the safetensors original"},
      Beginning{"<!DOCTYPE"sv, "it is a web page: download it again"},
      Beginning{"<html"sv, "it is a web page: download it again"},
      Beginning{"Entry not found"sv, "it is the message of a failed download: download it again"},
      Beginning{"Repository not found"sv,
                "it is the message of a failed download: download it again"},
      Beginning{
          "Access to model"sv,
          "it is the message of a refused download: accept the model's terms, log in (hf auth "
          "login), and download it again"}};
  for (const Beginning& known : kBeginnings) {
    if (text.starts_with(known.bytes)) return known.kind;
  }
  return "a header of " + std::to_string(length) + " bytes is more than the format allows";
}

}  // namespace

std::int64_t TensorEntry::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (const std::int64_t size : shape) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  }
  return text + "]";
}

SafetensorsHeader read_safetensors_header(std::span<const std::byte> bytes,
                                          const std::string& where) {
  if (bytes.empty()) throw BadRequest(where + ": is empty: download it again");
  const std::string_view beginning(reinterpret_cast<const char*>(bytes.data()),
                                   std::min<std::size_t>(bytes.size(), 64));
  planner::refuse_lfs_pointer(beginning, where);
  if (bytes.size() < kLengthBytes) {
    throw BadRequest(where + ": is not a safetensors file: it holds " +
                     std::to_string(bytes.size()) + " bytes");
  }
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > kMostHeaderBytes) {
    throw BadRequest(where +
                     ": is not a safetensors file: " + kind_by_beginning(beginning, length));
  }
  if (length > bytes.size() - kLengthBytes) {
    throw BadRequest(where + ": its header of " + std::to_string(length) +
                     " bytes is longer than the file: it is cut short");
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data() + kLengthBytes),
                              static_cast<std::size_t>(length));
  const json parsed = parse_strict_json(text, where + ": header", kHeaderLevels);
  if (!parsed.is_object()) throw BadRequest(where + ": its header is not a JSON object");
  SafetensorsHeader header;
  header.data_begin = kLengthBytes + static_cast<std::size_t>(length);
  const std::size_t data_bytes = bytes.size() - header.data_begin;
  for (const auto& [name, value] : parsed.items()) {
    if (name == "__metadata__") {
      read_metadata(value, where, header);
    } else {
      header.tensors.emplace(name, EntryReader(where, name, value).read(data_bytes));
    }
  }
  check_places(header, data_bytes, where);
  return header;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : file_(path), header_(read_safetensors_header(file_.bytes(), path.string())) {}

const TensorEntry* SafetensorsFile::find(const std::string& name) const {
  const auto found = header_.tensors.find(name);
  return found == header_.tensors.end() ? nullptr : &found->second;
}

}  // namespace sluice::engine
