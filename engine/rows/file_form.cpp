#include "engine/rows/file_form.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/rows/byte_stream.hpp"
#include "engine/rows/json_row.hpp"
#include "engine/rows/split_names.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

constexpr std::size_t kLooksAt = std::size_t{1} << 20;
constexpr std::array<std::string_view, 4> kJsonNames = {".jsonl", ".json", ".ndjson", ".jsonlines"};
constexpr std::array<std::string_view, 4> kPackedNames = {".gz", ".gzip", ".zst", ".zstd"};
constexpr std::array<std::string_view, 2> kCsvNames = {".csv", ".tsv"};
constexpr std::array<std::string_view, 7> kOtherNames = {".parquet", ".pq",  ".arrow", ".feather",
                                                         ".ipc",     ".txt", ".text"};

template <std::size_t kSize>
bool among(const std::array<std::string_view, kSize>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// A kind of file that is not read, known by its first bytes.
struct OtherFile {
  std::string_view magic;
  std::string_view is;
  std::string_view fix;
};
constexpr std::string_view kNumpyMagic = "\x93NUMPY";
constexpr std::array kOtherFiles = {
    OtherFile{"version https://git-lfs.github.com/", "a Git LFS pointer, not the data",
              "run git lfs pull"},
    OtherFile{kNumpyMagic, "a NumPy array",
              "give token ids as data_format=tokens, or write rows as JSON lines"},
    OtherFile{std::string_view("SQLite format 3\0", 16), "an SQLite database",
              "write its rows as JSON lines or CSV"},
    OtherFile{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel or Word file",
              "save it as CSV or text, in UTF-8"},
    OtherFile{"%PDF-", "a PDF", "write its text as a .txt file (pdftotext)"},
    OtherFile{"\x89HDF", "an HDF5 file", "write its rows as JSON lines"},
    OtherFile{std::string_view("Obj\x01", 4), "an Avro file", "write its rows as JSON lines"},
    OtherFile{"FEA1", "Feather of version 1",
              "write it as version 2 (pyarrow.feather.write_feather)"},
    OtherFile{"\x80\x02}", "a Python pickle, which is never opened here",
              "write its rows as JSON lines"},
    OtherFile{"\x80\x03", "a Python pickle, which is never opened here",
              "write its rows as JSON lines"},
    OtherFile{"\x80\x04\x95", "a Python pickle, which is never opened here",
              "write its rows as JSON lines"},
    OtherFile{"\x80\x05\x95", "a Python pickle, which is never opened here",
              "write its rows as JSON lines"},
};

[[noreturn]] void refuse(const std::string& where, std::string_view is, std::string_view fix) {
  throw BadRequest("data: " + where + " is " + std::string(is) + ": " + std::string(fix));
}

/// Name of the encoding if the bytes are UTF-16 or UTF-32, with or without a byte order mark.
std::optional<std::string_view> wide_encoding(std::string_view begin) {
  if (begin.starts_with(std::string_view("\xff\xfe\0\0", 4))) return "UTF-32LE";
  if (begin.starts_with(std::string_view("\0\0\xfe\xff", 4))) return "UTF-32BE";
  if (begin.starts_with("\xff\xfe")) return "UTF-16LE";
  if (begin.starts_with("\xfe\xff")) return "UTF-16BE";
  // Without a mark: text of Latin letters has a zero in every other place.
  const std::size_t looked = std::min<std::size_t>(begin.size(), 4096) & ~std::size_t{3};
  if (looked < 8) return std::nullopt;
  std::array<std::size_t, 4> zeros{};
  for (std::size_t i = 0; i < looked; ++i) zeros[i % 4] += begin[i] == '\0' ? 1 : 0;
  const std::size_t most = looked / 4 - looked / 32;
  const auto full = [&](std::size_t place) { return zeros[place] >= most; };
  const auto empty = [&](std::size_t place) { return zeros[place] <= looked / 64; };
  if (empty(0) && full(1) && full(2) && full(3)) return "UTF-32LE";
  if (full(0) && full(1) && full(2) && empty(3)) return "UTF-32BE";
  if (empty(0) && full(1) && empty(2) && full(3)) return "UTF-16LE";
  if (full(0) && empty(1) && full(2) && empty(3)) return "UTF-16BE";
  return std::nullopt;
}

bool is_arrow_stream(std::string_view begin, const std::string& extension) {
  // The marker of a message and its length, which is a schema's: never text.
  if (begin.starts_with("\xff\xff\xff\xff")) return true;
  return extension == ".arrow" || extension == ".feather" || extension == ".ipc";
}

/// Whether the first two lines that are not blank (the first, if it is the only one) are objects.
bool begins_with_objects(std::string_view begin, bool whole) {
  int objects = 0;
  for (std::size_t at = 0; at < begin.size() && objects < 2;) {
    const std::size_t end = begin.find('\n', at);
    if (end == std::string_view::npos && !whole) return false;
    const std::string_view line = begin.substr(at, std::min(end, begin.size()) - at);
    at = end == std::string_view::npos ? begin.size() : end + 1;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const JsonRow row = read_json_row(line);
    if (!row.fault.empty() || !row.value->is_object()) return false;
    ++objects;
  }
  return objects > 0;
}

/// Index behind the list or object that begins a text; none if it does not end there.
std::optional<std::size_t> json_end(std::string_view text) {
  std::int64_t depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (quoted) {
      continue;
    } else if (text[i] == '{' || text[i] == '[') {
      ++depth;
    } else if ((text[i] == '}' || text[i] == ']') && --depth == 0) {
      return i + 1;
    }
  }
  return std::nullopt;
}

/// Whether a text is objects over several lines, or a list of objects, by what it begins with. One
/// object before something else is a text: code, say.
bool begins_with_value(std::string_view begin) {
  const std::size_t first = begin.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return false;
  const std::string_view text = begin.substr(first);
  std::size_t next = text.find_first_not_of(" \t\r\n", 1);
  if (text[0] == '[') {
    if (next == std::string_view::npos || text[next] != '{') return false;
    next = text.find_first_not_of(" \t\r\n", next + 1);
  } else if (text[0] != '{') {
    return false;
  }
  if (next == std::string_view::npos || text[next] != '"') return false;
  const auto end = json_end(text);
  if (!end) return true;
  const JsonRow value = read_json_row(text.substr(0, *end));
  const std::size_t behind = text.find_first_not_of(" \t\r\n", *end);
  return value.fault.empty() && (behind == std::string_view::npos || text[behind] == '{');
}

}  // namespace

const char* to_string(FileForm form) {
  switch (form) {
    case FileForm::text:
      return "text";
    case FileForm::json:
      return "JSON";
    case FileForm::csv:
      return "CSV";
    case FileForm::parquet:
      return "parquet";
    case FileForm::arrow:
      return "Arrow";
  }
  return "";
}

bool named_as_packed(const std::filesystem::path& file) {
  return among(kPackedNames, in_lower_case(file.extension().string()));
}

std::string data_extension(const std::filesystem::path& file) {
  const std::filesystem::path plain = named_as_packed(file) ? file.stem() : file;
  return in_lower_case(plain.extension().string());
}

bool named_as_data(const std::filesystem::path& file) {
  const std::string name = data_extension(file);
  return among(kJsonNames, name) || among(kCsvNames, name) || among(kOtherNames, name);
}

FileForm form_of(std::string_view begin, bool whole, const std::string& extension,
                 const std::string& where) {
  if (begin.starts_with("PAR1")) return FileForm::parquet;
  if (begin.starts_with("ARROW1")) return FileForm::arrow;
  for (const OtherFile& other : kOtherFiles) {
    if (begin.starts_with(other.magic)) refuse(where, other.is, other.fix);
  }
  constexpr std::size_t kTarMark = 257;
  if (begin.size() > kTarMark + 5 && begin.substr(kTarMark, 5) == "ustar") {
    refuse(where, "a tar archive", "unpack it (tar xf) and name the files in it");
  }
  if (is_arrow_stream(begin, extension)) return FileForm::arrow;
  if (const auto wide = wide_encoding(begin)) {
    throw BadRequest("data: " + where + " is " + std::string(*wide) +
                     ", and text is read as UTF-8: iconv -f " + std::string(*wide) + " -t UTF-8 " +
                     where + " > NEW");
  }
  if (extension == ".parquet" || extension == ".pq") {
    refuse(where, "no parquet file, though it is called so", "fetch it again");
  }
  if (among(kJsonNames, extension)) {
    const std::size_t first = begin.find_first_not_of(" \t\r\n");
    if (first != std::string_view::npos && begin.substr(first, 1) == "<") {
      refuse(where, "HTML or XML, though it is called JSON", "fetch the data themselves");
    }
    return FileForm::json;
  }
  if (among(kCsvNames, extension)) return FileForm::csv;
  if (begins_with_objects(begin, whole) || begins_with_value(begin)) return FileForm::json;
  return FileForm::text;
}

FileForm file_form(const std::filesystem::path& file) {
  const auto stream = open_byte_stream(file);
  std::string begin(kLooksAt, '\0');
  std::size_t got = 0;
  bool whole = false;
  while (got < begin.size() && !whole) {
    const std::size_t more = stream->read(std::span(begin).subspan(got));
    whole = more == 0;
    got += more;
  }
  begin.resize(got);
  std::string_view text = begin;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  if (text.starts_with(kNumpyMagic) && packed_form(file) != Packed::no) {
    refuse(file.string(), "a packed NumPy array",
           "unpack it (gunzip, unzstd) to train its token ids");
  }
  if (text.starts_with("\x1f\x8b\x08") || text.starts_with("\x28\xb5\x2f\xfd")) {
    refuse(file.string(), "packed twice", "unpack it once (gunzip, unzstd)");
  }
  const FileForm form = form_of(text, whole, data_extension(file), file.string());
  const bool table = form == FileForm::parquet || form == FileForm::arrow;
  if (table && packed_form(file) != Packed::no) {
    refuse(file.string(), std::string("a packed ") + to_string(form) + " file",
           "unpack it (gunzip, unzstd); such files are packed inside");
  }
  return form;
}

}  // namespace sluice::engine
