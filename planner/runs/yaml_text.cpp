#include "planner/runs/yaml_text.hpp"

#include <yaml-cpp/yaml.h>

namespace sluice::planner {

std::string in_quotes(const std::string& value) {
  std::string text = "\"";
  for (const char letter : value) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte < 0x20 || byte == 0x7F) {
      constexpr const char* kDigits = "0123456789abcdef";
      text.append("\\x").append(1, kDigits[byte / 16]).append(1, kDigits[byte % 16]);
      continue;
    }
    if (letter == '"' || letter == '\\') text += '\\';
    text += letter;
  }
  return text + "\"";
}

std::string flow_text(const YAML::Node& node) {
  if (node.IsNull()) return "~";
  if (node.IsScalar()) return in_quotes(node.Scalar());
  std::string text;
  for (const auto& item : node) {
    if (!text.empty()) text += ", ";
    text += node.IsMap() ? flow_text(item.first) + ": " + flow_text(item.second) : flow_text(item);
  }
  return node.IsMap() ? "{" + text + "}" : "[" + text + "]";
}

}  // namespace sluice::planner
