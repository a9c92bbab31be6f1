#include "profiler/report/page.hpp"

#include <nlohmann/json.hpp>

#include "profiler/report/page_text.hpp"

namespace sluice::profiler {
namespace {

/// JSON for use inside a script element, where "<" would let a text end the element.
std::string without_markup(const std::string& json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      safe += "\\u003c";
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string fill(std::string page, const std::string& mark, const std::string& text) {
  return page.replace(page.find(mark), mark.size(), text);
}

}  // namespace

std::string page_html(const sim::Json& data) {
  std::string script;
  for (const char* const* part = kScripts; *part != nullptr; ++part) script += *part;
  // The data last: it is the only part that may hold another part's mark.
  std::string page = fill(kPage, "{{style}}", kStyle);
  page = fill(std::move(page), "{{script}}", script);
  return fill(std::move(page), "{{data}}",
              without_markup(data.dump(-1, ' ', false, sim::Json::error_handler_t::replace)));
}

}  // namespace sluice::profiler
