// Recognises which known chat template a Jinja source is.
#include <algorithm>
#include <initializer_list>
#include <regex>
#include <set>

#include "engine/chat/family_template.hpp"
#include "engine/chat/jinja_source.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

constexpr const char* kToday = "Today Date: ";
constexpr const char* kNames = "chatml, qwen2, qwen2.5, qwen3, llama3, llama3.1, llama3.2, mistral";

[[noreturn]] void refuse_template(const std::string& where, const std::string& reason) {
  throw BadRequest(where + ": the chat template " + reason +
                   ": choose a known one with template=NAME (" + kNames + ")");
}

/// Everything that the code applies to values: filters as "|trim", methods as ".split".
std::set<std::string> operations(const std::string& code) {
  std::set<std::string> found;
  static const std::regex kFilter(R"(\|\s*([a-z_]+))");
  static const std::regex kMethod(R"(\.([a-z_]+)\s*\()");
  const auto collect = [&](const std::regex& pattern, const char* prefix) {
    for (std::sregex_iterator at(code.begin(), code.end(), pattern), end; at != end; ++at) {
      found.insert(prefix + (*at)[1].str());
    }
  };
  collect(kFilter, "|");
  collect(kMethod, ".");
  return found;
}

/// Refuses operations that would change the text in a way that the family's rendering does not
/// support.
void require_operations(const JinjaSource& source, std::initializer_list<const char*> known,
                        const std::string& where) {
  std::set<std::string> allowed = {"|length", "|tojson", "|list", ".items"};
  allowed.insert(known.begin(), known.end());
  for (const std::string& each : operations(source.code)) {
    if (!allowed.contains(each)) {
      refuse_template(where, "is of no known family: it uses " + each);
    }
  }
}

/// Refuses markers like <|this|> that the family does not write.
void require_marks(const JinjaSource& source, std::initializer_list<const char*> known,
                   const std::string& where) {
  static const std::regex kMark(R"(<\|[^|]*\|>)");
  for (const std::string& literal : source.literals) {
    for (std::sregex_iterator at(literal.begin(), literal.end(), kMark), end; at != end; ++at) {
      const std::string mark = at->str();
      const bool expected =
          std::ranges::any_of(known, [&](const char* each) { return mark == each; });
      if (!expected) refuse_template(where, "is of no known family: it writes " + mark);
    }
  }
}

FamilyTemplate recognised_chatml(const JinjaSource& source, const std::string& where) {
  require_marks(source, {"<|im_start|>", "<|im_end|>"}, where);
  const bool feeds = source.any_literal_with("<|im_end|>\n") || source.has_literal("\n");
  if (!source.any_literal_with("<|im_end|>") || !feeds) {
    refuse_template(where,
                    "is of no known family: it ends no turn with <|im_end|> and a line feed");
  }
  if (source.code_has("bos_token") || source.code_has("eos_token")) {
    refuse_template(where, "is of no known family: it writes bos_token or eos_token");
  }
  if (source.any_literal_with("think>")) {
    if (!source.code_has("last_query_index") || !source.any_literal_with("</think>\n\n")) {
      refuse_template(where, "is of no known family: it writes <think> in its own way");
    }
    require_operations(
        source, {".startswith", ".endswith", ".split", ".strip", ".rstrip", ".lstrip"}, where);
    return {.name = "qwen3", .family = ChatFamily::qwen3};
  }
  require_operations(source, {}, where);
  FamilyTemplate found{.name = "chatml", .family = ChatFamily::chatml};
  static const std::regex kDefault(R"(<\|im_start\|>system\n([^]+)<\|im_end\|>\n?)");
  for (const std::string& literal : source.literals) {
    std::smatch match;
    if (!std::regex_match(literal, match, kDefault)) continue;
    const std::string system = match[1].str();
    if (found.default_system && *found.default_system != system) {
      refuse_template(where, "is of no known family: it has two default system messages");
    }
    found.default_system = system;
    found.name = "chatml (default system message \"" + system + "\")";
  }
  return found;
}

FamilyTemplate recognised_llama3(const JinjaSource& source, const std::string& where) {
  require_marks(source,
                {"<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|begin_of_text|>",
                 "<|python_tag|>", "<|eom_id|>"},
                where);
  const bool today = source.code_has("strftime_now");
  // Llama 3.2 uses today's date unless it is given one, so one is given.
  if (today && !source.code_has("date_string is defined")) {
    refuse_template(where, "writes the date of today, so that a run could not be repeated");
  }
  const std::set<std::string> used = operations(source.code);
  if (!source.any_literal_with("<|eot_id|>") || !source.code_has("bos_token") ||
      !used.contains("|trim")) {
    refuse_template(where,
                    "is of no known family: it is like Llama 3's without bos_token, trim or "
                    "<|eot_id|>");
  }
  require_operations(source, {"|trim"}, where);
  FamilyTemplate found{.name = "llama3", .family = ChatFamily::llama3};
  const auto cutting = std::ranges::find_if(source.literals, [](const std::string& each) {
    return each.starts_with("Cutting Knowledge Date:");
  });
  if (cutting == source.literals.end()) return found;
  static const std::regex kDate(R"(\d\d [A-Z][a-z][a-z] \d{4})");
  const auto date = std::ranges::find_if(
      source.literals, [](const std::string& each) { return std::regex_match(each, kDate); });
  if (date == source.literals.end() || !source.has_literal(kToday)) {
    refuse_template(where, "is of no known family: it is like Llama 3.1's without its date");
  }
  found.name = today ? "llama3.2" : "llama3.1";
  found.preamble = *cutting + kToday + *date + "\n\n";
  return found;
}

FamilyTemplate recognised_mistral(const JinjaSource& source, const std::string& where) {
  require_operations(source, {"|trim"}, where);
  if (!source.code_has("bos_token") || !source.code_has("eos_token")) {
    refuse_template(where,
                    "is of no known family: it is like Mistral's without bos_token and eos_token");
  }
  FamilyTemplate found{.name = "mistral", .family = ChatFamily::mistral};
  std::set<std::string> opens, closes;
  for (const std::string& each : source.literals) {
    if (each == "[INST]" || each == "[INST] " || each == " [INST] ") opens.insert(each);
    if (each == "[/INST]" || each == " [/INST]" || each == " [/INST] ") closes.insert(each);
  }
  if (opens.size() != 1 || closes.size() != 1) {
    refuse_template(where, "is of no known family: it writes [INST] in its own way");
  }
  found.open = *opens.begin();
  found.close = *closes.begin();
  static const std::regex kAnswer(
      R"(('' ?\+ ?)?(message\[''\]|message\.content|content) ?(\| ?trim)? ?(\+ ?'' ?)?\+ ?eos_token)");
  std::smatch answer;
  if (!std::regex_search(source.code, answer, kAnswer) || answer[4].matched) {
    refuse_template(where, "is of no known family: it writes answers in its own way");
  }
  if (answer[1].matched && !source.has_literal(" ")) {
    refuse_template(where, "is of no known family: it writes answers in its own way");
  }
  found.before_answer = answer[1].matched ? " " : "";
  found.trims_answer = answer[3].matched;
  const bool system = source.code_has("system_message");
  const bool first = source.code_has("loop.first and system_message");
  const bool last = source.code_has("loop.last and system_message");
  if (system && first == last) {
    refuse_template(where, "is of no known family: it places system messages in its own way");
  }
  const bool trims = operations(source.code).contains("|trim");
  if (trims != found.trims_answer || (system && !source.has_literal("\n\n"))) {
    refuse_template(where, "is of no known family: it writes messages in its own way");
  }
  found.system_place = !system ? SystemPlace::nowhere
                       : first ? SystemPlace::first_question
                               : SystemPlace::last_question;
  return found;
}

}  // namespace

FamilyTemplate recognised_chat_template(const std::string& text, const std::string& where) {
  const JinjaSource source = read_jinja(text);
  if (source.any_literal_with("<|im_start|>")) return recognised_chatml(source, where);
  if (source.any_literal_with("<|start_header_id|>")) return recognised_llama3(source, where);
  if (source.any_literal_with("[INST]")) return recognised_mistral(source, where);
  refuse_template(where, "is of no known family");
}

FamilyTemplate named_chat_template(const std::string& name) {
  const auto chatml = [&](std::optional<std::string> system) {
    return FamilyTemplate{
        .name = name, .family = ChatFamily::chatml, .default_system = std::move(system)};
  };
  if (name == "chatml") return chatml(std::nullopt);
  if (name == "qwen2") return chatml("You are a helpful assistant.");
  if (name == "qwen2.5") {
    return chatml("You are Qwen, created by Alibaba Cloud. You are a helpful assistant.");
  }
  if (name == "qwen3") return {.name = name, .family = ChatFamily::qwen3};
  if (name == "llama3") return {.name = name, .family = ChatFamily::llama3};
  if (name == "llama3.1" || name == "llama3.2") {
    return {.name = name,
            .family = ChatFamily::llama3,
            .preamble = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n"};
  }
  if (name == "mistral") return {.name = name, .family = ChatFamily::mistral};
  throw BadRequest("template: \"" + name + "\" is not one of " + kNames);
}

}  // namespace sluice::engine
