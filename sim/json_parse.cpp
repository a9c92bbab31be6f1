// Parsing for sim/json_object.hpp: line and column, keys given twice, numbers that are not finite.
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "sim/error.hpp"
#include "sim/json_object.hpp"

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
std::string reason_of(const Json::exception& error) {
  std::string reason = error.what();
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

/// Accepts every value and notes the first key given twice in one object.
class DuplicateKeys {
 public:
  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    const auto level = static_cast<std::size_t>(depth);
    if (event == Json::parse_event_t::object_start) {
      if (levels_.size() <= level + 1) levels_.resize(level + 2);
      levels_[level + 1].clear();
    } else if (event == Json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!levels_[level].insert(key).second && duplicate_.empty()) duplicate_ = key;
    }
    return true;
  }
  [[nodiscard]] const std::string& duplicate() const { return duplicate_; }

 private:
  std::vector<std::unordered_set<std::string>> levels_;
  std::string duplicate_;
};

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

}  // namespace

Json parse_json(std::string_view text, std::string_view where) {
  DuplicateKeys keys;
  const auto callback = [&keys](int depth, Json::parse_event_t event, Json& parsed) {
    return keys(depth, event, parsed);
  };
  const auto refuse_duplicate = [&] {
    if (keys.duplicate().empty()) return;
    throw BadRequest(std::string(where) + ": key \"" + keys.duplicate() +
                     "\" is given twice in one object; keep one");
  };
  std::string failure;
  try {
    Json parsed = Json::parse(text, callback);
    refuse_duplicate();
    return parsed;
  } catch (const Json::parse_error& error) {
    const std::size_t byte = error.byte > 0 ? error.byte - 1 : 0;
    failure = located(where, position_of(text, byte), reason_of(error));
  } catch (const Json::exception& error) {
    failure = std::string(where) + ": " + reason_of(error);
  }
  try {
    keys = DuplicateKeys();
    Json parsed = Json::parse(with_marks(text), callback);
    refuse_duplicate();
    return parsed;
  } catch (const Json::exception&) {
    throw BadRequest(failure);
  }
}

std::string read_text_file(const std::string& path) {
  if (path == "-") {
    return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
  }
  const auto refuse = [&path](const std::string& reason) {
    throw BadRequest("cannot read " + path + ": " + reason + "; give the path of a file");
  };
  if (std::filesystem::is_directory(path)) refuse("it is a folder");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse(std::strerror(errno));
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) refuse("read error");
  return text;
}

}  // namespace sluice::sim
