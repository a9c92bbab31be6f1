#include "engine/chat/chat_template.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/chat/special_tokens.hpp"
#include "engine/chat/template_differences.hpp"
#include "engine/chat/template_process.hpp"
#include "engine/chat/template_sources.hpp"
#include "planner/files/hash.hpp"
#include "sim/error.hpp"
#include "sim/warning.hpp"

namespace sluice::engine {

/// A compiled template.
struct ChatTemplate::Parts {
  TemplateSources sources;
  std::string key;     ///< Names the template in requests.
  std::string load;    ///< Request that compiles it.
  std::string sha256;  ///< Hash of the request without the reading, for the data's hash.
  LoadedTemplate known;
};

namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using planner::DataReading;
using std::filesystem::path;

/// Version of the renderer: to be increased whenever equal templates would give other pieces.
constexpr std::int64_t kRendererVersion = 1;

/// A request that compiles a template; without a reading the one whose hash stands for it.
std::string load_request(const TemplateSources& sources, const SpecialTokens& tokens,
                         const std::optional<std::string>& date, const std::string& key,
                         std::optional<DataReading> reading = std::nullopt) {
  ordered_json named = tokens.named;
  if (!tokens.additional.empty()) named["additional_special_tokens"] = tokens.additional;
  ordered_json request = {{"do", "load"},
                          {"key", key},
                          {"sources", sources.texts},
                          {"tokens", named},
                          {"date", date ? ordered_json(*date) : ordered_json()},
                          {"special", tokens.all}};
  if (reading) request["reading"] = static_cast<std::int64_t>(*reading);
  try {
    return request.dump();
  } catch (const json::type_error&) {
    throw BadRequest(sources.where + ": the chat template is not UTF-8");
  }
}

/// JSON text on one line: a line feed within JSON is only space.
void append_line(const std::string& text, std::string& out) {
  const std::size_t from = out.size();
  out += text;
  std::replace(out.begin() + static_cast<std::ptrdiff_t>(from), out.end(), '\n', ' ');
}

std::string request_for(const char* what, const std::string& key,
                        const Conversation& conversation) {
  std::string line = std::string(R"({"do":")") + what + R"(","key":")" + key + R"(","messages":[)";
  for (const ChatMessage& message : conversation.messages) {
    if (line.back() != '[') line += ',';
    append_line(message.fields, line);
  }
  line += "],\"variables\":";
  append_line(conversation.variables, line);
  return line;
}

void require_tokens(const TemplateSources& sources, const LoadedTemplate& known,
                    const path& folder) {
  for (const std::string& token : known.missing) {
    const std::string line = (folder / "tokenizer_config.json").string() + ": " + token +
                             ": is missing, and the chat template " + sources.name + " writes it";
    if (sources.shipped || known.refusal.find(token) != std::string::npos) throw BadRequest(line);
    sim::warn(line + ": nothing stands in its place");
  }
}

bool spells_today(const TemplateSources& sources) {
  return std::ranges::any_of(sources.texts, [](const auto& each) {
    return each.second.find("strftime_now") != std::string::npos;
  });
}

void require_date(const TemplateSources& sources, const LoadedTemplate& known) {
  if (known.reads.contains("date_string") || spells_today(sources)) return;
  throw BadRequest("date_string: the chat template " + sources.name +
                   " writes no date: leave it out");
}

/// Values that hold wherever a template is used: its special tokens, its date and how data are
/// read.
struct Given {
  SpecialTokens tokens;
  std::optional<std::string> date;
  DataReading reading;
};

std::shared_ptr<const ChatTemplate::Parts> compiled(TemplateSources sources, const Given& given) {
  auto parts = std::make_shared<ChatTemplate::Parts>();
  const std::string key =
      planner::sha256_hex(load_request(sources, given.tokens, given.date, "")).substr(0, 16);
  parts->sha256 = planner::sha256_hex(load_request(sources, given.tokens, given.date, key));
  parts->key = key + "@" + std::to_string(static_cast<std::int64_t>(given.reading));
  parts->load = load_request(sources, given.tokens, given.date, parts->key, given.reading);
  parts->known = TemplateProcess::of_program().load(parts->load, sources.where);
  parts->sources = std::move(sources);
  return parts;
}

/// Says where the chosen template and the folder's own write different texts.
void compare_with_folder(const ChatTemplate& chosen, const path& folder, const Given& given) {
  try {
    auto own = folder_template(folder);
    if (!own) return;
    const ChatTemplate other(compiled(std::move(*own), given));
    if (const auto difference = template_difference(chosen, other)) {
      sim::warn("template: " + *difference + ": leave template out to train as the model was");
    }
  } catch (const BadRequest& error) {
    sim::warn(std::string("template: the folder's own cannot be compared with it: ") +
              error.what());
  }
}

}  // namespace

std::string ChatTemplate::name() const { return parts_->sources.name; }

std::string ChatTemplate::canonical() const {
  return "renderer " + std::to_string(kRendererVersion) + ", jinja2 " + parts_->known.jinja2 +
         ", template " + parts_->sha256 +
         // Earlier renderers took the next question's token for the end of such an answer.
         (parts_->known.bare ? ", bare answers" : "");
}

std::vector<Rendered> ChatTemplate::render(std::span<const Conversation> conversations) const {
  std::vector<std::string> requests;
  requests.reserve(conversations.size());
  for (const Conversation& each : conversations) {
    std::string line = request_for("render", parts_->key, each) + ",\"learnt\":\"";
    for (const ChatMessage& message : each.messages) line += message.learnt ? '1' : '0';
    requests.push_back(line + "\"}");
  }
  return TemplateProcess::of_program().render(parts_->load, requests, name());
}

std::string ChatTemplate::render_prompt(const Conversation& conversation) const {
  const std::string request = request_for("prompt", parts_->key, conversation) + "}";
  const Rendered rendered =
      TemplateProcess::of_program().render(parts_->load, {&request, 1}, name()).front();
  if (!rendered.left_out.empty()) throw BadRequest(name() + ": " + rendered.left_out);
  return rendered.pieces.front().text;
}

std::optional<std::string> ChatTemplate::turn_end() const { return parts_->known.turn_end; }

std::optional<std::string> ChatTemplate::canonical_of_0_1_0() const {
  return parts_->known.earlier;
}

const std::map<std::string, std::string>& ChatTemplate::sources() const {
  return parts_->sources.texts;
}

std::string ChatTemplate::jinja2() const { return parts_->known.jinja2; }

bool asks_for_today(const path& folder, const std::optional<std::string>& name) {
  try {
    const auto sources =
        name ? named_template(folder, *name, DataReading::present) : folder_template(folder);
    return sources && spells_today(*sources);
  } catch (const BadRequest&) {
    return false;  // It is refused where it is opened.
  }
}

ChatTemplate chat_template_of(const path& folder, const std::optional<std::string>& name,
                              const std::optional<std::string>& date,
                              std::optional<DataReading> reading) {
  if (date && (date->empty() || date->find('\n') != std::string::npos)) {
    throw BadRequest("date_string: must be one line, such as \"26 Jul 2024\"");
  }
  const Given given{.tokens = read_special_tokens(folder),
                    .date = date,
                    .reading = reading.value_or(DataReading::present)};
  auto sources = name ? named_template(folder, *name, given.reading) : folder_template(folder);
  if (!sources) {
    throw BadRequest(folder.string() +
                     ": has no chat template, and the data are conversations: choose one with "
                     "template=NAME (" +
                     shipped_template_names() + "), or the path of a .jinja file");
  }
  const auto parts = compiled(std::move(*sources), given);
  require_tokens(parts->sources, parts->known, folder);
  if (date) require_date(parts->sources, parts->known);
  ChatTemplate chosen(parts);
  if (name) compare_with_folder(chosen, folder, given);
  return chosen;
}

}  // namespace sluice::engine
