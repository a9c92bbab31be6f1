// Chat templates that are shipped: the files of engine/chat/templates, compiled into the program.
#pragma once

#include <string_view>
#include <vector>

namespace sluice::engine {

struct ShippedTemplate {
  std::string_view name;  ///< Name of the file without ".jinja".
  std::string_view text;
};

/// Every shipped template, in the order of names.
[[nodiscard]] const std::vector<ShippedTemplate>& shipped_templates();

}  // namespace sluice::engine
