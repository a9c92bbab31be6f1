#include "engine/datasets/example_file.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "engine/model_files/mapped_file.hpp"
#include "engine/model_files/strict_json.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

constexpr int kMostExampleLevels = 32;
constexpr std::string_view kJsonSpace = " \t\r\n";

/// Scanner that finds the elements of an array by their brackets, so that only one at a time is
/// parsed.
class ExampleScan {
 public:
  ExampleScan(std::string_view text, std::string file, const ExampleVisitor& visit,
              const ExampleProgress& progress)
      : text_(text), file_(std::move(file)), visit_(visit), progress_(progress) {}

  void lines() {
    while (at_ < text_.size()) {
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      const std::string_view line = text_.substr(at_, end - at_);
      if (line.find_first_not_of(kJsonSpace) != std::string_view::npos) {
        if (give(line) == Reading::stops) return;
      }
      at_ = end + 1;
      ++line_;
    }
  }

  void array() {
    skip_space();
    ++at_;  // '['
    skip_space();
    if (next() == ']') return;
    for (;;) {
      skip_space();
      if (next() != '{') refuse("an example must be an object { ... }");
      const std::size_t end = object_end();
      if (give(text_.substr(at_, end - at_)) == Reading::stops) return;
      line_ += std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                          text_.begin() + static_cast<std::ptrdiff_t>(end), '\n');
      at_ = end;
      skip_space();
      if (next() == ']') return;
      if (next() != ',') refuse("after an example there must be a comma, or the array's end");
      ++at_;
    }
  }

 private:
  [[nodiscard]] char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void skip_space() {
    for (; at_ < text_.size() && kJsonSpace.find(text_[at_]) != std::string_view::npos; ++at_) {
      if (text_[at_] == '\n') ++line_;
    }
  }

  /// Index after the bracket that closes the object at the current place.
  [[nodiscard]] std::size_t object_end() const {
    std::int64_t depth = 0;
    bool quoted = false;
    for (std::size_t i = at_; i < text_.size(); ++i) {
      const char letter = text_[i];
      if (quoted) {
        if (letter == '\\') ++i;
        if (letter == '"') quoted = false;
      } else if (letter == '"') {
        quoted = true;
      } else if (letter == '{' || letter == '[') {
        ++depth;
      } else if ((letter == '}' || letter == ']') && --depth == 0) {
        return i + 1;
      }
    }
    refuse("the example is not closed");
  }

  Reading give(std::string_view object) const {
    const nlohmann::json parsed = parse_strict_json(object, where(), kMostExampleLevels);
    if (!parsed.is_object()) refuse("an example must be an object { ... }");
    const Reading reading = visit_(parsed, where());
    if (progress_) progress_(static_cast<std::int64_t>(at_ + object.size()), std::ssize(text_));
    return reading;
  }

  [[nodiscard]] std::string where() const { return file_ + ":" + std::to_string(line_); }
  [[noreturn]] void refuse(const char* reason) const { throw BadRequest(where() + ": " + reason); }

  std::string_view text_;
  std::string file_;
  const ExampleVisitor& visit_;
  const ExampleProgress& progress_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
};

}  // namespace

void read_examples(const std::filesystem::path& file, const ExampleVisitor& visit,
                   const ExampleProgress& progress) {
  const MappedFile mapped(file);
  std::string_view text(reinterpret_cast<const char*>(mapped.bytes().data()),
                        mapped.bytes().size());
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const std::size_t first = text.find_first_not_of(kJsonSpace);
  ExampleScan scan(text, file.string(), visit, progress);
  if (first != std::string_view::npos && text[first] == '[') return scan.array();
  scan.lines();
}

}  // namespace sluice::engine
