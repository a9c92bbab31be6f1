#include "engine/chat/conversation.hpp"

#include <nlohmann/json.hpp>

#include "sim/error.hpp"

namespace sluice::engine {

ChatMessage chat_message(const std::string& role, const std::string& content, bool learnt) {
  const nlohmann::ordered_json fields = {{"role", role}, {"content", content}};
  try {
    return {fields.dump(), learnt};
  } catch (const nlohmann::json::type_error&) {
    throw BadRequest("the text of a message is not UTF-8");
  }
}

}  // namespace sluice::engine
