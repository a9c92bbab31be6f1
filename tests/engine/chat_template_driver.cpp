// chat_template_driver FOLDER [NAME [DATE]]: reads conversations from stdin, each a line of JSON (a
// list of messages, or an object with messages, variables, learnt, and prompt), and writes for each
// one line of JSON: the pieces of the text that the folder's chat template (or the one of that
// name) makes of it, or the reason why it is left out.
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "engine/chat/chat_template.hpp"
#include "sim/error.hpp"

namespace {

using namespace sluice::engine;
using nlohmann::ordered_json;

Conversation conversation_of(const ordered_json& line) {
  const ordered_json& messages = line.is_array() ? line : line.at("messages");
  Conversation out;
  for (const ordered_json& message : messages) {
    const std::size_t index = out.messages.size();
    const bool learnt = line.is_array() || !line.contains("learnt") || line["learnt"][index];
    out.messages.push_back({message.dump(), learnt});
  }
  if (line.is_object() && line.contains("variables")) out.variables = line["variables"].dump();
  return out;
}

ordered_json shown(const Rendered& rendered) {
  if (!rendered.left_out.empty()) return {{"error", rendered.left_out}};
  ordered_json pieces = ordered_json::array();
  for (const ChatPiece& piece : rendered.pieces) pieces.push_back({piece.text, piece.learnt});
  return {{"pieces", pieces}};
}

void run(const ChatTemplate& chat) {
  std::vector<Conversation> conversations;
  std::vector<std::string> prompts;
  for (std::string text; std::getline(std::cin, text);) {
    const ordered_json line = ordered_json::parse(text);
    conversations.push_back(conversation_of(line));
    if (line.is_object() && line.contains("prompt")) {
      prompts.push_back(chat.render_prompt(conversations.back()));
    }
  }
  if (!prompts.empty()) {
    for (const std::string& prompt : prompts) std::cout << ordered_json(prompt).dump() << '\n';
    return;
  }
  for (const Rendered& each : chat.render(conversations)) std::cout << shown(each).dump() << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  try {
    const auto word = [&](int at) {
      const bool given = argc > at && *argv[at] != '\0';
      return given ? std::optional<std::string>(argv[at]) : std::nullopt;
    };
    const ChatTemplate chat = chat_template_of(argv[1], word(2), word(3));
    if (chat.turn_end()) std::cerr << "turns end with " << *chat.turn_end() << '\n';
    if (const auto earlier = chat.canonical_of_0_1_0()) {
      std::cerr << "0.1.0 hashed " << ordered_json(*earlier).dump() << '\n';
    }
    run(chat);
  } catch (const sluice::Error& error) {
    std::cerr << error.what() << '\n';
    return static_cast<int>(error.code());
  }
  return 0;
}
