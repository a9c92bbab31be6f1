// The form of a data file, by its first bytes and its name.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace sluice::engine {

/// Form of a data file, once it is unpacked.
enum class FileForm {
  text,     ///< A file of plain UTF-8 text, without fields.
  json,     ///< Objects: one a line, a JSON list, or an object that holds one list.
  csv,      ///< Fields between commas, tabs or semicolons, with a header (RFC 4180).
  parquet,  ///< Apache Parquet.
  arrow,    ///< Apache Arrow: a stream, a file, or Feather.
};
const char* to_string(FileForm form);

/// Form of `file`, whose first bytes (a megabyte at most) are unpacked and looked at. JSON is known
/// by its name or because its first lines are objects, CSV by its name, parquet and Arrow by their
/// bytes. Throws BadRequest naming the file, what it is and what converts it if it is none of them
/// (UTF-16, a Git LFS pointer, NumPy, a spreadsheet, ...).
[[nodiscard]] FileForm file_form(const std::filesystem::path& file);

/// Last extension of a name in lower case, without that of a packer: ".jsonl" of "a.JSONL.gz".
[[nodiscard]] std::string data_extension(const std::filesystem::path& file);

/// Whether a name has the extension of a packer: .gz, .gzip, .zst or .zstd.
[[nodiscard]] bool named_as_packed(const std::filesystem::path& file);

/// Whether a name has the extension of a data file, such as .jsonl, .csv or .parquet.
[[nodiscard]] bool named_as_data(const std::filesystem::path& file);

/// Form of the text that begins with `begin` (`whole`: and ends there), from a file whose name has
/// the extension `extension`. `where` names the file in errors; throws as file_form does.
[[nodiscard]] FileForm form_of(std::string_view begin, bool whole, const std::string& extension,
                               const std::string& where);

}  // namespace sluice::engine
