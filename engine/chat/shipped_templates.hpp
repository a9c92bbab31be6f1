// Chat templates that are shipped: the files of engine/chat/templates, compiled into the program.
#pragma once

#include <string_view>
#include <vector>

namespace sluice::engine {

struct ShippedTemplate {
  /// Name of the template's file without ".jinja": "chatml", or "qwen3@1" for what qwen3 was until
  /// the first reading of data (planner::DataReading).
  std::string_view name;
  std::string_view text;
};

/// Every chat template that is compiled into the program, sorted by name.
[[nodiscard]] const std::vector<ShippedTemplate>& shipped_templates();

}  // namespace sluice::engine
