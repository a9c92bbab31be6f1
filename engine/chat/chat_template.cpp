#include "engine/chat/chat_template.hpp"

#include <nlohmann/json.hpp>

#include "engine/chat/family_template.hpp"
#include "sim/error.hpp"

namespace sluice::engine {

struct ChatTemplate::Parts {
  FamilyTemplate family;
};

namespace {

FamilyConversation family_conversation(const Conversation& conversation) {
  FamilyConversation out;
  for (const ChatMessage& message : conversation.messages) {
    const auto fields = nlohmann::json::parse(message.fields);
    out.push_back({fields.at("role").get<std::string>(), fields.at("content").get<std::string>()});
  }
  return out;
}

}  // namespace

std::string ChatTemplate::name() const { return parts_->family.name; }

std::string ChatTemplate::canonical() const { return parts_->family.canonical(); }

std::vector<Rendered> ChatTemplate::render(std::span<const Conversation> conversations) const {
  std::vector<Rendered> out;
  for (const Conversation& each : conversations) {
    try {
      out.push_back({.pieces = parts_->family.render(family_conversation(each)), .left_out = {}});
    } catch (const BadRequest& error) {
      out.push_back({.pieces = {}, .left_out = error.what()});
    }
  }
  return out;
}

std::string ChatTemplate::render_prompt(const Conversation& conversation) const {
  std::string text;
  for (const ChatPiece& piece : parts_->family.render(family_conversation(conversation))) {
    text += piece.text;
  }
  return text;
}

std::optional<std::string> ChatTemplate::turn_end() const { return parts_->family.turn_end(); }

ChatTemplate chat_template_of(const std::filesystem::path& folder,
                              const std::optional<std::string>& name,
                              const std::optional<std::string>& date_string) {
  return ChatTemplate(std::make_shared<const ChatTemplate::Parts>(
      ChatTemplate::Parts{family_template_of(folder, name, date_string)}));
}

}  // namespace sluice::engine
