#include "engine/tokenizer/normal_form.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

#include "engine/tokenizer/unicode_tables.hpp"
#include "sim/utf8.hpp"

namespace sluice::engine {
namespace {

void append_composed(std::string& out, std::string_view text) {
  if (text.empty()) return;
  utf8proc_uint8_t* composed = nullptr;
  const auto length =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &composed,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(composed, &std::free);
  if (length < 0) throw std::bad_alloc();  // Nothing else can fail for valid UTF-8.
  out.append(reinterpret_cast<const char*>(composed), static_cast<std::size_t>(length));
}

}  // namespace

std::string normal_form_c(std::string_view text) {
  // Code points below U+0300 do not compose with each other.
  if (std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0xcc; })) {
    return std::string(text);
  }
  std::string out;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto point = sim::code_point_at(text, at);
    const std::size_t bytes = point ? point->bytes : 1;
    if (point && is_newer_mark(point->value)) {
      append_composed(out, text.substr(begin, at - begin));
      out.append(text.substr(at, bytes));
      begin = at + bytes;
    }
    at += bytes;
  }
  append_composed(out, text.substr(begin));
  return out;
}

}  // namespace sluice::engine
