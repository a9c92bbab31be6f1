// Parsing for sim/json_object.hpp: line and column, keys given twice, numbers that are not finite.
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "sim/error.hpp"
#include "sim/json_object.hpp"
#include "sim/json_reader.hpp"

namespace sluice::sim {
namespace {

struct Position {
  std::size_t line = 1;
  std::size_t column = 1;
};

Position position_of(std::string_view text, std::size_t byte) {
  Position at;
  for (std::size_t i = 0; i < std::min(byte, text.size()); ++i) {
    if (text[i] == '\n') {
      ++at.line;
      at.column = 1;
    } else {
      ++at.column;
    }
  }
  return at;
}

std::string located(std::string_view where, Position at, const std::string& reason) {
  return std::string(where) + ": line " + std::to_string(at.line) + ", column " +
         std::to_string(at.column) + ": " + reason;
}

/// The library's message without its own prefix and position, on one line.
std::string reason_of(std::string reason) {
  const auto position = reason.find("column ");
  auto begin = position == std::string::npos ? reason.find("] ") : reason.find(": ", position);
  if (begin != std::string::npos) reason = reason.substr(begin + 2);
  for (char& letter : reason) {
    if (static_cast<unsigned char>(letter) < 0x20) letter = ' ';
  }
  constexpr std::size_t kLongest = 200;
  if (reason.size() > kLongest) reason = reason.substr(0, kLongest) + "...";
  return reason;
}

/// Length of a number, NaN or Infinity at `begin` that no double holds; zero for anything else.
std::size_t non_finite_at(std::string_view text, std::size_t begin) {
  for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
    if (text.substr(begin, word.size()) == word) return word.size();
  }
  const std::size_t end = std::min(text.find_first_not_of("+-.0123456789eE", begin), text.size());
  if (end == begin) return 0;
  const std::string number(text.substr(begin, end - begin));
  char* parsed = nullptr;
  const double value = std::strtod(number.c_str(), &parsed);
  return *parsed == '\0' && !std::isfinite(value) ? end - begin : 0;
}

/// `text` with every number that is not finite replaced by a mark that typed access refuses.
std::string with_marks(std::string_view text) {
  std::string marked;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size();) {
    if (in_string) {
      if (text[i] == '\\' && i + 1 < text.size()) marked += text[i++];
      if (text[i] == '"') in_string = false;
      marked += text[i++];
      continue;
    }
    if (text[i] == '"') in_string = true;
    const bool may_start = std::strchr("-0123456789NI", text[i]) != nullptr && text[i] != '\0';
    if (const std::size_t length = may_start ? non_finite_at(text, i) : 0; length > 0) {
      marked += "{\"\\u0001non-finite\":\"" + std::string(text.substr(i, length)) + "\"}";
      i += length;
      continue;
    }
    if (may_start) {  // A finite number: whole, so that its tail is not looked at again.
      do marked += text[i++];
      while (i < text.size() && std::strchr("+-.0123456789eE", text[i]) != nullptr &&
             text[i] != '\0');
      continue;
    }
    marked += text[i++];
  }
  return marked;
}

/// Rest of `in`, which is about `expected` bytes.
std::string whole(std::istream& in, std::size_t expected) {
  std::string text;
  for (std::size_t room = expected + 1; in; room = std::max<std::size_t>(1 << 16, text.size())) {
    const std::size_t had = text.size();
    text.resize(had + room);
    in.read(text.data() + had, static_cast<std::streamsize>(room));
    text.resize(had + static_cast<std::size_t>(in.gcount()));
  }
  return text;
}

std::string message_of(const JsonFault& fault, std::string_view text, std::string_view where) {
  switch (fault.kind) {
    case JsonFault::Kind::syntax:
      return located(where, position_of(text, fault.byte > 0 ? fault.byte - 1 : 0),
                     reason_of(fault.detail));
    case JsonFault::Kind::repeated_key:
      return std::string(where) + ": key \"" + fault.detail +
             "\" is given twice in one object; keep one";
    case JsonFault::Kind::size:
      return std::string(where) + ": is 4 GiB or larger, which is more than is read; split it";
    case JsonFault::Kind::number_beyond_double:
    case JsonFault::Kind::depth:
      break;
  }
  return std::string(where) + ": " + reason_of(fault.detail);
}

}  // namespace

JsonDocument parse_json(std::string_view text, std::string_view where) {
  auto read = read_json(text);
  if (auto* document = std::get_if<JsonDocument>(&read)) return std::move(*document);
  const std::string message = message_of(std::get<JsonFault>(read), text, where);
  if (std::get<JsonFault>(read).may_be_mended()) {
    read = read_json(with_marks(text));
    if (auto* document = std::get_if<JsonDocument>(&read)) return std::move(*document);
    const JsonFault& second = std::get<JsonFault>(read);
    if (!second.may_be_mended()) throw BadRequest(message_of(second, text, where));
  }
  throw BadRequest(message);
}

std::string read_text_file(const std::string& path) {
  if (path == "-") {
    return whole(std::cin, 0);
  }
  const auto refuse = [&path](const std::string& reason) {
    throw BadRequest("cannot read " + path + ": " + reason + "; give the path of a file");
  };
  if (std::filesystem::is_directory(path)) refuse("it is a folder");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse(std::strerror(errno));
  std::error_code unknown;
  const std::uintmax_t size = std::filesystem::file_size(path, unknown);
  std::string text = whole(file, unknown ? 0 : size);
  if (file.bad()) refuse("read error");
  return text;
}

}  // namespace sluice::sim
