#include "planner/files/yaml_document.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <optional>
#include <sstream>

#include "sim/error.hpp"
#include "sim/utf8.hpp"

namespace sluice::planner {
namespace {

/// Receives a document's events and keeps nothing.
class Listener : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}
  void OnAlias(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}
  void OnScalar(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                const std::string& /*value*/) override {}
  void OnSequenceStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/,
                       YAML::anchor_t /*anchor*/, YAML::EmitterStyle::value /*style*/) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {}
  void OnMapEnd() override {}
};

/// Whether the text holds more than one document. YAML::LoadAll would not end where the parser of
/// yaml-cpp 0.7 finds ever more empty documents in front of a text such as ",a: 1".
bool holds_more_than_one_document(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  Listener listener;
  return parser.HandleNextDocument(listener) && parser.HandleNextDocument(listener);
}

/// Number of the first line that a tab indents, which YAML forbids but its parser reports
/// unclearly.
std::optional<int> line_behind_tab(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const auto blank = line.find_first_not_of(' ');
    if (blank == std::string::npos || line[blank] != '\t') continue;
    if (line.find_first_not_of(" \t\r", blank) != std::string::npos) return number;
  }
  return std::nullopt;
}

[[noreturn]] void refuse(const YAML::Exception& error, const std::string& where) {
  throw BadRequest(where + ": line " + std::to_string(error.mark.line + 1) + ", column " +
                   std::to_string(error.mark.column + 1) + ": " + error.msg);
}

YAML::Node only_document(const std::string& text, const std::string& where) {
  if (const auto wrong = sim::first_not_utf8(text)) {
    throw BadRequest(where + ": byte " + std::to_string(*wrong) + " is not UTF-8: convert it");
  }
  try {
    if (holds_more_than_one_document(text)) {
      throw BadRequest(where + ": holds more than one document, or text that is not YAML" +
                       (where.ends_with(".jsonl") ? ": a data file is given by --data" : ""));
    }
    return YAML::Load(text);
  } catch (const YAML::Exception& error) {
    if (const auto line = line_behind_tab(text)) {
      throw BadRequest(where + ": line " + std::to_string(*line) +
                       ": a tab indents it: YAML takes spaces");
    }
    refuse(error, where);
  }
}

}  // namespace

void read_yaml(const std::string& text, const std::string& where,
               const std::function<void(const YAML::Node& document)>& read) {
  const YAML::Node document = only_document(text, where);
  try {
    read(document);
  } catch (const YAML::Exception& error) {
    refuse(error, where);
  }
}

}  // namespace sluice::planner
