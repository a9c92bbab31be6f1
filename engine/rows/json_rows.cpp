#include "engine/rows/json_rows.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "sim/error.hpp"

namespace sluice::engine {
namespace {

constexpr std::string_view kSpace = " \t\r\n";
/// An object with a list of objects of one of these names is a row, not a file's frame.
constexpr std::array<std::string_view, 10> kListsOfRows = {
    "messages", "conversations", "conversation", "turns",  "prompt",
    "chosen",   "rejected",      "completion",   "dialog", "tools"};

bool blank(std::string_view text) {
  return text.find_first_not_of(kSpace) == std::string_view::npos;
}

/// Finds where a value that begins with a bracket or a quote ends, over text that grows.
class ValueEnd {
 public:
  /// Index behind the value that begins at `begin` of text's rest, read on as far as needed; none
  /// if the text ends within it.
  static std::optional<std::size_t> find(TextWindow& text, std::size_t begin) {
    ValueEnd state;
    for (std::size_t at = begin;;) {
      const std::string_view rest = text.rest();
      for (; at < rest.size(); ++at) {
        if (state.closes_at(rest[at])) return at + 1;
      }
      if (!text.more()) return std::nullopt;
    }
  }

 private:
  bool closes_at(char letter) {
    if (escaped_) {
      escaped_ = false;
    } else if (quoted_) {
      if (letter == '\\') escaped_ = true;
      if (letter == '"') quoted_ = false;
      return letter == '"' && depth_ == 0;
    } else if (letter == '"') {
      quoted_ = true;
    } else if (letter == '{' || letter == '[') {
      ++depth_;
    } else if (letter == '}' || letter == ']') {
      return --depth_ <= 0;
    }
    return false;
  }

  std::int64_t depth_ = 0;
  bool quoted_ = false, escaped_ = false;
};

class JsonScan {
 public:
  JsonScan(TextWindow& text, const RowVisitor& visitor) : text_(text), visitor_(visitor) {}

  void read() {
    if (!text_.skip_space()) return;
    if (text_.rest()[0] == '[') return list_to_end();
    if (text_.rest()[0] != '{') return lines();
    switch (form_of_objects()) {
      case Objects::lines:
        return lines();
      case Objects::several:
        return objects();
      case Objects::one:
        return frame();
    }
  }

 private:
  /// Forms of a text that begins with an object.
  enum class Objects { lines, several, one };

  Objects form_of_objects() {
    // A frame of gigabytes is one: its end is not looked for. A row on a line of its own may be
    // longer than what is looked at of other texts.
    constexpr std::size_t kLooksAt = std::size_t{16} << 20;
    constexpr std::size_t kLongestLine = std::size_t{128} << 20;
    std::size_t searched = 0, line_end = std::string_view::npos;
    do {
      if (line_end == std::string_view::npos) line_end = text_.rest().find('\n', searched);
      searched = text_.rest().size();
    } while (searched < (line_end == std::string_view::npos ? kLongestLine : kLooksAt) &&
             text_.more());
    // The first line alone does not tell: what follows it is read, too.
    if (line_end != std::string_view::npos) (void)next_letter(line_end);
    const std::string_view rest = text_.rest();
    const bool has_line = rest.find('\n') != std::string_view::npos;
    const std::string_view line = rest.substr(0, rest.find('\n'));
    const auto end = object_end(rest);
    if ((!end || *end > line.size()) && second_line_is_object(rest)) return Objects::lines;
    if (!end) return has_line && !ends_open(line) ? Objects::lines : Objects::one;
    const std::size_t next = rest.find_first_not_of(kSpace, *end);
    if (next == std::string_view::npos) return Objects::one;
    if (rest[next] == ',') {
      throw BadRequest(text_.file() +
                       ": its objects stand between commas without a list around them: put [ "
                       "before the first and ] behind the last");
    }
    return *end > line.size() && rest[next] == '{' ? Objects::several : Objects::lines;
  }

  static std::optional<std::size_t> object_end(std::string_view text) {
    std::int64_t depth = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (quoted) {
        if (text[i] == '\\') ++i;
        if (i < text.size() && text[i] == '"') quoted = false;
      } else if (text[i] == '"') {
        quoted = true;
      } else if (text[i] == '{' || text[i] == '[') {
        ++depth;
      } else if ((text[i] == '}' || text[i] == ']') && --depth == 0) {
        return i + 1;
      }
    }
    return std::nullopt;
  }

  /// Whether the second line that is not blank holds one object and nothing else: then the first is
  /// a broken line rather than the beginning of something longer.
  static bool second_line_is_object(std::string_view text) {
    const std::size_t first_end = text.find('\n');
    if (first_end == std::string_view::npos) return false;
    const std::size_t begin = text.find_first_not_of(kSpace, first_end);
    if (begin == std::string_view::npos || text[begin] != '{') return false;
    std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
    line = line.substr(0, line.find_last_not_of(kSpace) + 1);
    return object_end(line) == line.size();
  }

  /// Whether a line leaves brackets open and breaks no text: the beginning of a longer value.
  static bool ends_open(std::string_view line) {
    bool quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (quoted && line[i] == '\\')
        ++i;
      else if (line[i] == '"')
        quoted = !quoted;
    }
    return !quoted && !object_end(line);
  }

  void lines() {
    for (;;) {
      std::size_t end = text_.rest().find('\n');
      while (end == std::string_view::npos) {
        const std::size_t searched = text_.rest().size();
        if (!text_.more()) break;
        end = text_.rest().find('\n', searched);
      }
      const bool last = end == std::string_view::npos;
      const std::string_view line = text_.rest().substr(0, end);
      const bool stops = !blank(line) && give(line) == Reading::stops;
      if (last || stops) return;
      text_.take(end + 1);
    }
  }

  /// Gives the objects of a text that each take several lines.
  void objects() {
    while (text_.skip_space()) {
      if (text_.rest()[0] != '{') refuse("an example must be an object { ... }");
      if (give_value() == Reading::stops) return;
    }
  }

  void list_to_end() {
    if (list() == Reading::stops) return;
    if (text_.skip_space()) refuse("something follows the list of rows: a file holds one list");
  }

  /// Gives the items of a list, whose '[' is next.
  Reading list() {
    text_.take(1);
    bool first = true;
    std::int64_t line = 0;  // Line of the item before.
    for (std::int64_t item = 1;; ++item) {
      if (!text_.skip_space()) refuse("the list of rows is not closed");
      if (text_.rest()[0] == ']') {
        text_.take(1);
        return Reading::goes_on;
      }
      if (!first) {
        if (text_.rest()[0] != ',') {
          refuse("after an example there must be a comma, or the list's end");
        }
        text_.take(1);
        if (!text_.skip_space()) refuse("the list of rows is not closed");
      }
      first = false;
      if (text_.rest()[0] == ']') continue;  // A comma behind the last item.
      row_in_line_ = text_.line() == line ? ":row " + std::to_string(item) : "";
      line = text_.line();
      if (give_value() == Reading::stops) return Reading::stops;
    }
  }

  /// Gives the value that is next, and takes it.
  Reading give_value() {
    const std::size_t end = value_end();
    const Reading reading = give(text_.rest().substr(0, end));
    text_.take(end);
    return reading;
  }

  /// Index behind the value that is next.
  std::size_t value_end() {
    const char letter = text_.rest()[0];
    if (letter == '{' || letter == '[' || letter == '"') {
      const auto end = ValueEnd::find(text_, 0);
      if (!end) refuse("the example is not closed");
      return *end;
    }
    for (;;) {
      const std::size_t end = text_.rest().find_first_of(
          ",]}"
          " \t\r\n");
      if (end == 0) refuse("an example must be an object { ... }");
      if (end != std::string_view::npos) return end;
      if (!text_.more()) return text_.rest().size();
    }
  }

  /// Gives the rows of one object: the items of its one list of objects, or the object itself.
  void frame() {
    const std::string whole_where = text_.where();
    const std::int64_t line = text_.line();
    const bool row = is_row();
    const Reading reading = row ? give_value() : members(whole_where);
    if (reading == Reading::stops) return;
    const bool on_one_line = line == text_.line();
    const bool more = text_.skip_space();
    // A row longer than what was looked at, and others behind it.
    if (row && more && text_.rest()[0] == '{') return on_one_line ? lines() : objects();
    if (more) refuse("something follows the object that holds the rows");
  }

  /// Whether the object that is next is itself a row: it has no list of objects, or one of a row's.
  bool is_row() {
    std::size_t at = 1;
    for (;;) {
      if (!next_letter(at)) return true;
      if (text_.rest()[at] == ',') {
        ++at;
        continue;
      }
      if (text_.rest()[at] != '"') return true;
      const auto name_end = ValueEnd::find(text_, at);
      if (!name_end) return true;
      const std::string name(text_.rest().substr(at + 1, *name_end - at - 2));
      at = *name_end;
      if (!next_letter(at) || text_.rest()[at] != ':') return true;
      ++at;
      if (!next_letter(at)) return true;
      if (text_.rest()[at] == '[') {
        std::size_t item = at + 1;
        if (!next_letter(item)) return true;
        if (text_.rest()[item] == '{') {
          return std::ranges::find(kListsOfRows, name) != kListsOfRows.end();
        }
      }
      const auto end = skip_value(at);
      if (!end) return true;
      at = *end;
    }
  }

  /// Moves `at` to the next letter that is no space; false at the end.
  bool next_letter(std::size_t& at) {
    for (;;) {
      const std::size_t found = text_.rest().find_first_not_of(kSpace, at);
      if (found != std::string_view::npos) {
        at = found;
        return true;
      }
      at = text_.rest().size();
      if (!text_.more()) return false;
    }
  }

  std::optional<std::size_t> skip_value(std::size_t at) {
    const char letter = text_.rest()[at];
    if (letter == '{' || letter == '[' || letter == '"') return ValueEnd::find(text_, at);
    for (;;) {
      const std::size_t end = text_.rest().find_first_of(",}", at);
      if (end != std::string_view::npos) return end;
      if (!text_.more()) return std::nullopt;
    }
  }

  Reading members(const std::string& whole_where) {
    text_.take(1);
    std::string rows_of;
    for (;;) {
      if (!text_.skip_space()) refuse("the object that holds the rows is not closed");
      const char letter = text_.rest()[0];
      if (letter == '}') {
        text_.take(1);
        return Reading::goes_on;
      }
      if (letter == ',') {
        text_.take(1);
        continue;
      }
      if (letter != '"') refuse("is not JSON");
      const std::string name = taken_name();
      std::size_t item = 1;
      const bool list_of_objects =
          text_.rest()[0] == '[' && next_letter(item) && text_.rest()[item] == '{';
      if (list_of_objects) {
        if (!rows_of.empty()) {
          throw BadRequest(whole_where + ": holds two lists of rows, \"" + rows_of + "\" and \"" +
                           name + "\": write the one to learn into a file of its own");
        }
        rows_of = name;
        if (list() == Reading::stops) return Reading::stops;
        continue;
      }
      const auto end = skip_value(0);
      if (!end) refuse("the object that holds the rows is not closed");
      text_.take(*end);
    }
  }

  /// Takes a name and the colon behind it.
  std::string taken_name() {
    const auto end = ValueEnd::find(text_, 0);
    if (!end) refuse("the object that holds the rows is not closed");
    std::string name(text_.rest().substr(1, *end - 2));
    text_.take(*end);
    if (!text_.skip_space() || text_.rest()[0] != ':') refuse("is not JSON");
    text_.take(1);
    if (!text_.skip_space()) refuse("the object that holds the rows is not closed");
    return name;
  }

  Reading give(std::string_view text) {
    JsonRow read = read_json_row(text);
    if (read.fault.empty() && !read.value->is_object()) {
      read.fault = read.value->is_array()
                       ? "is a list, and an example must be an object: {\"messages\": [...]}"
                   : read.value->is_string()
                       ? "is a text, and an example must be an object: {\"text\": \"...\"}"
                       : "an example must be an object { ... }";
    }
    if (visitor_.progress) visitor_.progress(text_.bytes_done());
    const std::string where = text_.where() + row_in_line_;
    if (!read.fault.empty()) return visitor_.bad(where, read.fault);
    Row row{.object = std::move(read.value),
            .where = where,
            .replaced_surrogates = read.replaced_surrogates};
    return visitor_.row(row);
  }

  [[noreturn]] void refuse(const std::string& reason) const {
    throw BadRequest(text_.where() + ": " + reason);
  }

  TextWindow& text_;
  const RowVisitor& visitor_;
  /// What tells an item of a list from others on its line, ":row 7"; empty for the first of a line.
  std::string row_in_line_;
};

}  // namespace

void read_json_rows(TextWindow& text, const RowVisitor& visitor) { JsonScan(text, visitor).read(); }

}  // namespace sluice::engine
