#include "engine/rows/json_row.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <utility>

#include "sim/json_text.hpp"
#include "sim/utf8.hpp"

namespace sluice::engine {
namespace {

constexpr std::size_t kMostLevels = 128;
/// Beginning of the text that stands for a number that is not finite, in a mended text.
constexpr std::string_view kNotFinite = "\x01not finite\x01";

/// Removes all but the last value of each name, which moves to where the name stood first.
void keep_last_values(Json& object) {
  auto& members = object.get_ref<Json::object_t&>();
  std::unordered_map<std::string_view, std::size_t> last;
  for (std::size_t i = 0; i < members.size(); ++i) last[members.data()[i].first] = i;
  if (last.size() == members.size()) return;
  Json::object_t kept;
  kept.reserve(last.size());
  for (const auto& member : members) {
    const auto found = last.find(member.first);
    if (found == last.end()) continue;
    // Only the first of a name is met here: the name is then forgotten.
    kept.emplace_back(member.first, std::move(members.data()[found->second].second));
    last.erase(found);
  }
  object = Json(std::move(kept));
}

/// Builds the value from the events of nlohmann's parser.
class RowBuilder {
 public:
  explicit RowBuilder(bool mended) : mended_(mended) {}

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) { return add(value); }
  bool number_unsigned(std::uint64_t value) { return add(value); }
  bool number_float(double value, const std::string& text) {
    if (text.find_first_of(".eE") == std::string::npos) {
      return add(Json::binary(std::vector<std::uint8_t>(text.begin(), text.end())));
    }
    return add(value);
  }
  bool string(std::string& value) {
    if (mended_ && std::string_view(value).starts_with(kNotFinite)) {
      return add(std::numeric_limits<double>::quiet_NaN());
    }
    return add(std::move(value));
  }
  bool binary(Json::binary_t&) { return false; }  // Not in texts.
  bool start_object(std::size_t) { return open(Json::object()); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_object() {
    // Few members are compared with each other; many are looked up.
    constexpr std::size_t kFew = 12;
    Json& object = *open_.back();
    const auto& members = object.get_ref<const Json::object_t&>();
    bool repeated = members.size() > kFew;
    for (std::size_t i = 1; i < members.size() && !repeated; ++i) {
      for (std::size_t j = 0; j < i && !repeated; ++j) {
        repeated = members.data()[i].first == members.data()[j].first;
      }
    }
    if (repeated) keep_last_values(object);
    open_.pop_back();
    return true;
  }
  bool end_array() {
    open_.pop_back();
    return true;
  }
  bool key(std::string& name) {
    auto& members = open_.back()->get_ref<Json::object_t&>();
    members.emplace_back(std::move(name), Json());
    member_ = &members.back().second;
    return true;
  }
  template <class Exception>
  bool parse_error(std::size_t position, const std::string&, const Exception&) {
    error_at_ = position;
    return false;
  }

  [[nodiscard]] bool too_deep() const { return too_deep_; }
  [[nodiscard]] std::size_t error_at() const { return error_at_; }
  Json& value() { return root_; }

 private:
  Json& place() {
    if (member_ != nullptr) return *std::exchange(member_, nullptr);
    if (open_.empty()) return root_;
    return open_.back()->get_ref<Json::array_t&>().emplace_back();
  }
  template <class Value>
  bool add(Value&& value) {
    place() = std::forward<Value>(value);
    return true;
  }
  bool open(Json&& value) {
    too_deep_ = open_.size() >= kMostLevels;
    if (too_deep_) return false;
    Json& made = place();
    made = std::move(value);
    open_.push_back(&made);
    return true;
  }

  bool mended_;
  Json root_;
  std::vector<Json*> open_;  ///< Lists and objects around the next value; they do not move.
  Json* member_ = nullptr;   ///< Place of the next value, if it has a name.
  std::size_t error_at_ = 0;
  bool too_deep_ = false;
};

/// A text in which what only Python's json module reads is written as JSON.
struct Mended {
  std::string text;
  std::int64_t surrogates = 0;
  bool changed = false;
};

/// Length of NaN, Infinity or a number beyond double at `at`; 0 for anything else.
std::size_t not_finite_at(std::string_view text, std::size_t at) {
  for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
    if (text.substr(at, word.size()) == word) return word.size();
  }
  const std::size_t end = std::min(text.find_first_not_of("+-.0123456789eE", at), text.size());
  const std::string number(text.substr(at, end - at));
  if (number.find_first_of(".eE") == std::string::npos) return 0;
  char* parsed = nullptr;
  const double value = std::strtod(number.c_str(), &parsed);
  return *parsed == '\0' && std::isinf(value) ? end - at : 0;
}

/// Value of the escape "\uXXXX" at `at`, if there is one.
std::optional<unsigned> escape_at(std::string_view text, std::size_t at) {
  if (text.substr(at, 2) != "\\u" || text.size() < at + 6) return std::nullopt;
  unsigned value = 0;
  for (const char digit : text.substr(at + 2, 4)) {
    const auto index =
        std::string_view("0123456789abcdef")
            .find(static_cast<char>(digit >= 'A' && digit <= 'F' ? digit - 'A' + 'a' : digit));
    if (index == std::string_view::npos) return std::nullopt;
    value = value * 16 + static_cast<unsigned>(index);
  }
  return value;
}

/// Copies the escape at `at` and returns its length; a lone surrogate becomes U+FFFD.
std::size_t copy_escape(std::string_view text, std::size_t at, Mended& out) {
  const auto is_high = [](unsigned v) { return v >= 0xD800 && v < 0xDC00; };
  const auto is_low = [](unsigned v) { return v >= 0xDC00 && v < 0xE000; };
  const auto value = escape_at(text, at);
  if (!value || (!is_high(*value) && !is_low(*value))) {
    out.text += text.substr(at, 2);
    return std::min<std::size_t>(2, text.size() - at);
  }
  const auto next = escape_at(text, at + 6);
  if (is_high(*value) && next && is_low(*next)) {
    out.text += text.substr(at, 12);
    return 12;
  }
  out.text += "\\ufffd";
  out.changed = true;
  ++out.surrogates;
  return 6;
}

Mended mended(std::string_view text) {
  Mended out;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size();) {
    const char letter = text[i];
    if (quoted && letter == '\\') {
      i += copy_escape(text, i, out);
      continue;
    }
    if (letter == '"') quoted = !quoted;
    const bool may_start =
        !quoted && std::string_view("-0123456789NI").find(letter) != std::string_view::npos;
    if (!may_start) {
      out.text += text[i++];
      continue;
    }
    if (const std::size_t length = not_finite_at(text, i); length > 0) {
      out.text.append("\"\\u0001not finite\\u0001\"");
      out.changed = true;
      i += length;
      continue;
    }
    do out.text += text[i++];  // The whole number, so that its tail is not looked at again.
    while (i < text.size() &&
           std::string_view("+-.0123456789eE").find(text[i]) != std::string_view::npos);
  }
  return out;
}

/// Reason why `text` is not JSON, in one clause.
std::string fault_of(std::string_view text, std::size_t at) {
  if (const auto byte = sim::first_not_utf8(text)) {
    return "is not UTF-8 (at byte " + std::to_string(*byte + 1) + ")";
  }
  bool quoted = false;
  for (std::size_t i = 0; i < std::min(at, text.size()); ++i) {
    if (quoted && text[i] == '\\') {
      ++i;
      continue;
    }
    if (text[i] == '"') quoted = !quoted;
    if (!quoted || static_cast<unsigned char>(text[i]) >= 0x20) continue;
    if (text[i] == '\t') return "has a raw tab within a text: write it as \\t";
    return "has a raw control character within a text: write it as an escape";
  }
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text.substr(first).starts_with("{'")) {
    return "is Python's text of a dictionary, not JSON: write it with json.dumps";
  }
  if (text.starts_with('\x1e')) return "begins with a record separator: remove it (tr -d '\\036')";
  if (text.find("}{") != std::string_view::npos || text.find("} {") != std::string_view::npos) {
    return "is not JSON (at byte " + std::to_string(at) +
           "): where it is several objects, write each on a line of its own";
  }
  if (text.find("}\r{") != std::string_view::npos) {
    return "has lines that end in a carriage return alone: convert them (tr '\\r' '\\n')";
  }
  return "is not JSON (at byte " + std::to_string(at) + ")";
}

bool parse(std::string_view text, RowBuilder& builder) {
  return Json::sax_parse(text.data(), text.data() + text.size(), &builder);
}

}  // namespace

JsonRow read_json_row(std::string_view text) {
  RowBuilder first(false);
  const auto made = [](RowBuilder& builder, std::int64_t surrogates) {
    return JsonRow{.value = std::make_unique<Json>(std::move(builder.value())),
                   .fault = {},
                   .replaced_surrogates = surrogates};
  };
  if (parse(text, first)) return made(first, 0);
  const auto too_deep = [] {
    return JsonRow{.value = nullptr,
                   .fault = "nests deeper than " + std::to_string(kMostLevels) + " levels"};
  };
  if (first.too_deep()) return too_deep();
  const Mended again = mended(text);
  if (again.changed) {
    RowBuilder second(true);
    if (parse(again.text, second)) return made(second, again.surrogates);
    if (second.too_deep()) return too_deep();
  }
  return {.value = nullptr, .fault = fault_of(text, first.error_at())};
}

bool is_big_number(const Json& value) { return value.is_binary(); }

bool all_finite(const Json& value) {
  if (value.is_number_float()) return std::isfinite(value.get<double>());
  if (!value.is_structured()) return true;
  return std::ranges::all_of(value, [](const Json& item) { return all_finite(item); });
}

namespace {

void append_text(const Json& value, std::string& out) {
  if (value.is_string()) {
    out += sim::json_string(value.get_ref<const std::string&>());
  } else if (is_big_number(value)) {
    const auto& digits = value.get_binary();
    out.append(digits.begin(), digits.end());
  } else if (value.is_object()) {
    char before = '{';
    for (const auto& [name, member] : value.items()) {
      out += before;
      out += sim::json_string(name);
      out += ':';
      append_text(member, out);
      before = ',';
    }
    out += value.empty() ? "{}" : "}";
  } else if (value.is_array()) {
    char before = '[';
    for (const Json& item : value) {
      out += before;
      append_text(item, out);
      before = ',';
    }
    out += value.empty() ? "[]" : "]";
  } else {
    out += value.dump();
  }
}

}  // namespace

std::string json_text(const Json& value) {
  std::string out;
  append_text(value, out);
  return out;
}

}  // namespace sluice::engine
