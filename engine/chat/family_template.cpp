#include "engine/chat/family_template.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using Pieces = std::vector<ChatPiece>;

/// Characters that Python's str.strip() removes: ASCII white space and separators, and Unicode's
/// spaces.
constexpr std::array<std::string_view, 29> kPythonSpace = {" ",
                                                           "\t",
                                                           "\n",
                                                           "\v",
                                                           "\f",
                                                           "\r",
                                                           "\x1c",
                                                           "\x1d",
                                                           "\x1e",
                                                           "\x1f",
                                                           "\xc2\x85",
                                                           "\xc2\xa0",
                                                           "\xe1\x9a\x80",
                                                           "\xe2\x80\x80",
                                                           "\xe2\x80\x81",
                                                           "\xe2\x80\x82",
                                                           "\xe2\x80\x83",
                                                           "\xe2\x80\x84",
                                                           "\xe2\x80\x85",
                                                           "\xe2\x80\x86",
                                                           "\xe2\x80\x87",
                                                           "\xe2\x80\x88",
                                                           "\xe2\x80\x89",
                                                           "\xe2\x80\x8a",
                                                           "\xe2\x80\xa8",
                                                           "\xe2\x80\xa9",
                                                           "\xe2\x80\xaf",
                                                           "\xe2\x81\x9f",
                                                           "\xe3\x80\x80"};

std::string trimmed(std::string_view text) {
  const auto before = [&text] {
    return std::ranges::find_if(kPythonSpace, [&](auto each) { return text.starts_with(each); });
  };
  const auto behind = [&text] {
    return std::ranges::find_if(kPythonSpace, [&](auto each) { return text.ends_with(each); });
  };
  for (auto space = before(); space != kPythonSpace.end(); space = before()) {
    text.remove_prefix(space->size());
  }
  for (auto space = behind(); space != kPythonSpace.end(); space = behind()) {
    text.remove_suffix(space->size());
  }
  return std::string(text);
}

std::string without_leading_feeds(std::string_view text) {
  const std::size_t first = std::min(text.find_first_not_of('\n'), text.size());
  return std::string(text.substr(first));
}

std::string without_feeds_around(std::string_view text) {
  const std::size_t last = text.find_last_not_of('\n');
  if (last == std::string_view::npos) return {};
  return without_leading_feeds(text.substr(0, last + 1));
}

Pieces chatml(const FamilyTemplate& style, const FamilyConversation& conversation) {
  Pieces out;
  if (style.default_system && conversation.front().role != "system") {
    out.push_back({"<|im_start|>system\n" + *style.default_system + "<|im_end|>\n", false});
  }
  for (const FamilyMessage& message : conversation) {
    out.push_back({"<|im_start|>" + message.role + "\n", false});
    out.push_back({message.text + "<|im_end|>", message.role == "assistant"});
    out.push_back({"\n", false});
  }
  return out;
}

/// The thoughts and the answer in an assistant's message (Qwen3 splits them at </think>).
struct Answer {
  std::string thought, said;
};

Answer answer_of(const std::string& text) {
  constexpr std::string_view kBegin = "<think>";
  constexpr std::string_view kEnd = "</think>";
  const std::size_t first_end = text.find(kEnd);
  if (first_end == std::string::npos) return {{}, text};
  std::string thought = text.substr(0, first_end);
  thought.erase(thought.find_last_not_of('\n') + 1);
  const std::size_t begin = thought.rfind(kBegin);
  if (begin != std::string::npos) thought.erase(0, begin + kBegin.size());
  return {without_leading_feeds(thought),
          without_leading_feeds(text.substr(text.rfind(kEnd) + kEnd.size()))};
}

Pieces qwen3(const FamilyConversation& conversation) {
  std::size_t last_question = conversation.size() - 1;
  for (std::size_t i = conversation.size(); i-- > 0;) {
    const std::string& text = conversation[i].text;
    const bool of_tool = text.starts_with("<tool_response>") && text.ends_with("</tool_response>");
    if (conversation[i].role == "user" && !of_tool) {
      last_question = i;
      break;
    }
  }
  Pieces out;
  for (std::size_t i = 0; i < conversation.size(); ++i) {
    const FamilyMessage& message = conversation[i];
    std::string text = message.text;
    if (message.role == "assistant") {
      const Answer answer = answer_of(text);
      const bool last = i + 1 == conversation.size();
      text = answer.said;
      if (i > last_question && (last || !answer.thought.empty())) {
        text = "<think>\n" + without_feeds_around(answer.thought) + "\n</think>\n\n" +
               without_leading_feeds(answer.said);
      }
    }
    out.push_back({"<|im_start|>" + message.role + "\n", false});
    out.push_back({text + "<|im_end|>", message.role == "assistant"});
    out.push_back({"\n", false});
  }
  return out;
}

Pieces llama3(const FamilyTemplate& style, const FamilyConversation& conversation) {
  Pieces out = {{style.bos, false}};
  const auto add = [&out](const std::string& role, const std::string& text) {
    out.push_back({"<|start_header_id|>" + role + "<|end_header_id|>\n\n", false});
    out.push_back({text + "<|eot_id|>", role == "assistant"});
  };
  auto message = conversation.begin();
  if (style.preamble) {
    const bool given = message->role == "system";
    add("system", *style.preamble + (given ? trimmed(message->text) : std::string()));
    if (given) ++message;
  }
  for (; message != conversation.end(); ++message) add(message->role, trimmed(message->text));
  return out;
}

Pieces mistral(const FamilyTemplate& style, const FamilyConversation& conversation) {
  auto message = conversation.begin();
  std::string system;
  if (message->role == "system") {
    if (style.system_place == SystemPlace::nowhere) {
      throw BadRequest("the template " + style.name + " has no system message: leave it out");
    }
    system = message->text + "\n\n";
    ++message;
  }
  const auto questions = message;
  Pieces out = {{style.bos, false}};
  for (; message != conversation.end(); ++message) {
    const bool asks = (message - questions) % 2 == 0;
    if (asks != (message->role == "user")) {
      throw BadRequest("the template " + style.name +
                       " needs messages of user and assistant in turn");
    }
    if (!asks) {
      const std::string text = style.trims_answer ? trimmed(message->text) : message->text;
      out.push_back({style.before_answer + text + style.eos, true});
      continue;
    }
    const bool here = style.system_place == SystemPlace::first_question
                          ? message == questions
                          : message + 1 == conversation.end();
    out.push_back({style.open + (here ? system : "") + message->text + style.close, false});
  }
  return out;
}

}  // namespace

Pieces FamilyTemplate::render(const FamilyConversation& conversation) const {
  check(!conversation.empty(), "a conversation has messages");
  switch (family) {
    case ChatFamily::chatml:
      return chatml(*this, conversation);
    case ChatFamily::qwen3:
      return qwen3(conversation);
    case ChatFamily::llama3:
      return llama3(*this, conversation);
    case ChatFamily::mistral:
      return mistral(*this, conversation);
  }
  return {};
}

std::string FamilyTemplate::turn_end() const {
  if (family == ChatFamily::llama3) return "<|eot_id|>";
  return family == ChatFamily::mistral ? eos : "<|im_end|>";
}

std::string FamilyTemplate::canonical() const {
  std::string out = std::to_string(static_cast<int>(family));
  const std::string none("\x01");
  for (const std::string& each :
       {default_system.value_or(none), preamble.value_or(none), open, close, before_answer,
        std::to_string(static_cast<int>(trims_answer)),
        std::to_string(static_cast<int>(system_place)), bos, eos}) {
    out.append("\x1f").append(each);
  }
  return out;
}

}  // namespace sluice::engine
