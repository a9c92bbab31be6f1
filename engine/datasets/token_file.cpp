#include "engine/datasets/token_file.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <fstream>
#include <string_view>

#include "engine/rows/byte_stream.hpp"
#include "engine/rows/file_form.hpp"
#include "sim/error.hpp"
#include "sim/utf8.hpp"

namespace sluice::engine {
namespace {

using std::filesystem::path;

constexpr std::string_view kNumpyMagic = "\x93NUMPY";

/// Form of a file that holds no ids as they are read here, and what to do with it.
struct OtherForm {
  std::string is, fix;
};

/// A form that its first bytes show beyond chance: no stream of ids begins with them.
struct MagicForm {
  std::string_view magic, is, fix;
};
constexpr std::string_view kSaveIds = "save its ids with numpy.save";
constexpr std::array kMagicForms = {
    MagicForm{"BZh91AY&SY", "packed by bzip2", "unpack it (bunzip2)"},
    MagicForm{std::string_view("\xfd\x37zXZ\x00", 6), "packed by xz", "unpack it (unxz)"},
    MagicForm{"7z\xbc\xaf\x27\x1c", "packed by 7-Zip", "unpack it (7z x)"},
    MagicForm{"Rar!\x1a\x07", "a RAR archive", "unpack it (unrar x)"},
    MagicForm{std::string_view("ARROW1\0\0", 8), "an Arrow file", kSaveIds},
    MagicForm{"\x89HDF\r\n\x1a\n", "an HDF5 file", kSaveIds},
    MagicForm{std::string_view("SQLite format 3\0", 16), "an SQLite database", kSaveIds},
    MagicForm{std::string_view("MMIDIDX\0\0", 9), "the index of a Megatron data set",
              "name the .bin file beside it"},
    MagicForm{"\x80\x02\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19.", "a PyTorch file", kSaveIds},
};

std::uint64_t number_at(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t number = 0;
  for (std::size_t i = size; i > 0 && at + size <= bytes.size(); --i) {
    number = number << 8 | static_cast<unsigned char>(bytes[at + i - 1]);
  }
  return number;
}

/// Whether the file's beginning can be unpacked, by gzip or zstd.
bool unpacks(const path& file) {
  try {
    std::array<char, 4096> some{};
    return open_byte_stream(file)->read(some) > 0;
  } catch (const BadRequest&) {
    return false;
  }
}

std::optional<OtherForm> packed(std::string_view bytes, const path& file) {
  const bool gzip = bytes.starts_with("\x1f\x8b\x08");
  const bool zstd = bytes.starts_with("\x28\xb5\x2f\xfd");
  if ((!gzip && !zstd) || !unpacks(file)) return std::nullopt;
  return OtherForm{gzip ? "packed by gzip" : "packed by zstd",
                   gzip ? "unpack it (gunzip)" : "unpack it (unzstd)"};
}

/// A zip archive, by the header of its first member: "PK\3\4", version, flags, method, ..., the
/// length of the name at byte 26 and the name at byte 30.
std::optional<OtherForm> zipped(std::string_view bytes) {
  constexpr std::size_t kName = 30;
  constexpr std::uint64_t kNewestVersion = 63, kNewestMethod = 99, kLongestName = 4096;
  const std::uint64_t length = number_at(bytes, 26, 2);
  if (!bytes.starts_with("PK\x03\x04") || bytes.size() < kName) return std::nullopt;
  if (number_at(bytes, 4, 2) > kNewestVersion || number_at(bytes, 8, 2) > kNewestMethod ||
      length == 0 || length > kLongestName) {
    return std::nullopt;
  }
  const std::string_view name = bytes.substr(kName, length);
  if (name.ends_with(".npy")) {
    return OtherForm{"a NumPy archive (.npz)", "save one of its arrays with numpy.save"};
  }
  if (name.ends_with("/data.pkl")) return OtherForm{"a PyTorch file", std::string(kSaveIds)};
  return OtherForm{"a zip archive", "unpack it (unzip)"};
}

/// A safetensors file: the length of a JSON object, and the object.
bool is_safetensors(std::string_view bytes) {
  constexpr std::uint64_t kLongestHeader = 100'000'000;
  const std::uint64_t length = number_at(bytes, 0, 8);
  if (length < 2 || length > kLongestHeader || bytes.size() < 8 + length) return false;
  const std::string_view header = bytes.substr(8, length);
  return header.front() == '{' && header.substr(header.find_last_not_of(' '), 1) == "}";
}

/// A pickle of protocol 2 to 5: its first opcodes, and the last byte, which stops the machine.
bool is_pickle(std::string_view bytes) {
  if (bytes.size() < 12 || bytes[0] != '\x80' || bytes.back() != '.') return false;
  const auto protocol = static_cast<unsigned char>(bytes[1]);
  if (protocol == 2 || protocol == 3) {
    return std::string_view("]}(Xc").find(bytes[2]) != std::string_view::npos;
  }
  // A frame follows, which does not exceed the file.
  return (protocol == 4 || protocol == 5) && bytes[2] == '\x95' &&
         number_at(bytes, 3, 8) <= bytes.size() - 11;
}

/// Whether the file is text: UTF-8 without control characters, which ids of 16 or 32 bits hardly
/// ever lack.
bool is_text(std::string_view bytes) {
  constexpr std::size_t kLooksAt = std::size_t{64} << 10, kFewest = 16, kLongestCharacter = 4;
  const std::string_view looked = bytes.substr(0, kLooksAt);
  if (looked.size() < kFewest) return false;
  const auto is_control = [](unsigned char letter) {
    return letter == 0x7f ||
           (letter < 0x20 && letter != '\t' && letter != '\n' && letter != '\r' && letter != '\f');
  };
  if (std::ranges::any_of(looked, is_control)) return false;
  const auto fault = sim::first_not_utf8(looked);
  const bool cut = looked.size() < bytes.size();
  return !fault || (cut && *fault + kLongestCharacter > looked.size());
}

std::optional<OtherForm> other_form(std::string_view bytes, const path& file) {
  for (const MagicForm& form : kMagicForms) {
    if (bytes.starts_with(form.magic))
      return OtherForm{std::string(form.is), std::string(form.fix)};
  }
  if (auto form = packed(bytes, file)) return form;
  if (auto form = zipped(bytes)) return form;
  const std::string ids(kSaveIds);
  if (bytes.starts_with("PAR1") && bytes.ends_with("PAR1")) return OtherForm{"a parquet file", ids};
  const std::string name = data_extension(file);
  const bool arrow_name = name == ".arrow" || name == ".feather" || name == ".ipc";
  if (arrow_name && bytes.starts_with("\xff\xff\xff\xff")) return OtherForm{"an Arrow stream", ids};
  if (bytes.size() > 512 && bytes.substr(257, 5) == "ustar") {
    return OtherForm{"a tar archive", "unpack it (tar xf)"};
  }
  if (is_safetensors(bytes)) {
    return OtherForm{"a safetensors file, as weights of models are", ids};
  }
  if (is_pickle(bytes)) return OtherForm{"a Python pickle, which is never opened here", ids};
  if (is_text(bytes)) {
    return OtherForm{"text", "leave out data_format=tokens, so that a tokenizer cuts it"};
  }
  return std::nullopt;
}

/// Type of the ids of a token file of llm.c (a header of 256 numbers: magic, version, number of
/// ids), if the file is one.
std::optional<IntegerType> llm_c_type(std::string_view bytes) {
  const std::uint64_t magic = number_at(bytes, 0, 4), ids = number_at(bytes, 8, 4);
  std::optional<IntegerType> type;
  if (magic == 20240520) type = IntegerType::uint16;
  if (magic == 20240801) type = IntegerType::uint32;
  if (!type) return std::nullopt;
  const auto all = kLlmCHeader + static_cast<std::int64_t>(ids) * bytes_of(*type);
  return std::ssize(bytes) == all ? type : std::nullopt;
}

}  // namespace

bool begins_as_npy(const path& file) {
  std::error_code unknown;  // What cannot be looked at is no array.
  if (!std::filesystem::is_regular_file(file, unknown)) return false;
  std::array<char, kNumpyMagic.size()> begin{};
  std::ifstream in(file, std::ios::binary);
  in.read(begin.data(), begin.size());
  return in && std::string_view(begin.data(), begin.size()) == kNumpyMagic;
}

IntegerFile open_token_file(const path& file, IntegerType raw_type, const std::string& field) {
  if (begins_as_npy(file)) return IntegerFile::npy(file);
  const MappedFile mapped(file);
  const std::string_view bytes(reinterpret_cast<const char*>(mapped.bytes().data()),
                               mapped.bytes().size());
  if (const auto other = other_form(bytes, file)) {
    throw BadRequest(field + ": " + file.string() + " is " + other->is +
                     ", and token ids are read from plain .npy and .bin files: " + other->fix);
  }
  if (data_extension(file) == ".npy") return IntegerFile::npy(file);
  if (const auto type = llm_c_type(bytes)) return IntegerFile::raw(file, *type, kLlmCHeader);
  return IntegerFile::raw(file, raw_type);
}

}  // namespace sluice::engine
