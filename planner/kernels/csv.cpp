#include "planner/kernels/csv.hpp"

#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <sstream>

#include "sim/error.hpp"

namespace sluice::planner {
namespace {

struct CloseGzip {
  void operator()(gzFile file) const { gzclose_r(file); }
};

/// The text of `path`, unpacked if it is gzip.
std::string read_text(const std::string& path) {
  if (std::filesystem::is_directory(path)) throw BadRequest(path + ": is a folder, not a table");
  errno = 0;
  const std::unique_ptr<gzFile_s, CloseGzip> file(gzopen(path.c_str(), "rb"));
  if (!file) {
    throw BadRequest(path + ": cannot be read: " + std::strerror(errno != 0 ? errno : ENOMEM));
  }
  std::string text;
  char block[1 << 16];
  for (;;) {
    const int count = gzread(file.get(), block, sizeof block);
    if (count > 0) text.append(block, static_cast<std::size_t>(count));
    if (count < static_cast<int>(sizeof block)) break;
  }
  int status = Z_OK;
  gzerror(file.get(), &status);
  if (status != Z_OK) {
    throw BadRequest(path + ": its gzip data is damaged or ends early: copy the file again");
  }
  return text;
}

std::string trimmed_cell(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\r") - first + 1));
}

/// Splits a line into cells. A quoted cell may hold commas; a doubled quote in it is one quote.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      if (quoted && i + 1 < line.size() && line[i + 1] == '"') {
        cells.back() += line[i++];
      } else {
        quoted = !quoted;
      }
    } else if (line[i] == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += line[i];
    }
  }
  for (std::string& cell : cells) cell = trimmed_cell(cell);
  return cells;
}

}  // namespace

std::vector<CsvLine> read_csv(const std::string& path) {
  std::string text = read_text(path);
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  std::istringstream stream(text);
  std::vector<CsvLine> lines;
  std::size_t number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    if (!trimmed_cell(line).empty()) lines.push_back({number, cells_of(line)});
  }
  return lines;
}

std::string at_line(const std::string& path, std::size_t line) {
  return path + ": line " + std::to_string(line);
}

}  // namespace sluice::planner
