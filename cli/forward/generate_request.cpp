#include "cli/forward/generate_request.hpp"

#include <limits>
#include <nlohmann/json.hpp>

#include "planner/catalogue/store.hpp"
#include "planner/files/whole_file.hpp"
#include "sim/error.hpp"
#include "sim/json_object.hpp"
#include "sim/units_text.hpp"

namespace sluice::cli {
namespace {

using planner::RunArguments;

double number_within(const RunArguments& arguments, const char* flag, double usual, double most) {
  const auto given = arguments.value(flag);
  if (!given) return usual;
  const double number = planner::parse_number(*given, flag);
  if (number < 0 || number > most) {
    throw BadRequest(std::string(flag) + ": " + *given + " must be between 0 and " +
                     planner::format_amount(most));
  }
  return number;
}

std::int64_t count_of(const RunArguments& arguments, const char* flag, std::int64_t usual) {
  const auto given = arguments.value(flag);
  return given ? planner::parse_count(*given, flag) : usual;
}

/// Text of a file without a byte order mark. The line feed that ends a file is no part of a
/// message.
std::string text_of_file(const std::string& file, bool message) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  std::string text = planner::read_whole_file(file);
  if (text.starts_with(kMark)) text.erase(0, kMark.size());
  if (message && text.ends_with('\n')) text.pop_back();
  if (message && text.ends_with('\r')) text.pop_back();
  return text;
}

/// Token ids in the field `eos_token_id`, which is a number, a list of numbers, or absent.
std::vector<std::int32_t> ids_in(const std::filesystem::path& file) {
  if (!std::filesystem::is_regular_file(file)) return {};
  const sim::JsonDocument json = sim::parse_json(planner::read_whole_file(file), file.string());
  const std::optional<sim::JsonValue> value = json.root().find("eos_token_id");
  if (!value) return {};
  std::vector<std::int32_t> ids;
  const auto add = [&](const sim::JsonValue& id) {
    if (!id.is_whole() || id.integer() < 0 ||
        id.integer() > std::numeric_limits<std::int32_t>::max()) {
      throw BadRequest(file.string() + ": eos_token_id: must be a token's id or a list of ids");
    }
    ids.push_back(static_cast<std::int32_t>(id.integer()));
  };
  if (value->is_list()) {
    for (const sim::JsonValue id : *value) add(id);
  } else if (!value->is_null()) {
    add(*value);
  }
  return ids;
}

/// Refuses two prompts, and none where no conversation is asked for.
void require_one_prompt(const RunArguments& arguments) {
  std::vector<std::string> given;
  for (const char* flag : {"--messages", "--prompt", "--prompt-file"}) {
    if (arguments.value(flag)) given.emplace_back(flag);
  }
  if (given.size() > 1) {
    const bool whole = given.front() == "--messages";
    throw BadRequest(given.front() + ": is given beside " + given.back() + ", and " +
                     (whole ? "is the whole conversation, whose last message is the question"
                            : "each is a whole prompt") +
                     ": keep one of them");
  }
  if (!given.empty() || arguments.has("--chat")) return;
  throw BadRequest(
      "prompt: give --prompt TEXT, --prompt-file FILE or --messages FILE, or --chat alone to "
      "write messages one by one");
}

}  // namespace

ForwardVerb generate_verb() {
  using Takes = planner::VerbFlag::Takes;
  return {
      "generate",
      "sluice generate MODEL|RUNDIR --prompt TEXT|--chat [--max-new-tokens N] [--temperature T] "
      "[flags]",
      {{"--prompt", Takes::value, "text to continue"},
       {"--prompt-file", Takes::value, "file with the text to continue"},
       {"--chat", Takes::nothing,
        "the prompt is a message: render it with the model's chat template; without a prompt, "
        "messages are lines of stdin, and the conversation goes on"},
       {"--messages", Takes::value,
        "file with a conversation to answer, as JSON: a list of messages, or an object with "
        "messages and tools; renders it as --chat does"},
       {"--date", Takes::value,
        "the date that the chat template writes, such as \"26 Jul 2024\" (the run's; else "
        "today's)"},
       {"--max-new-tokens", Takes::value, "generate at most this many tokens (128)"},
       {"--temperature", Takes::value,
        "temperature of sampling; 0 takes the most likely token (0)"},
       {"--top-k", Takes::value, "sample among the K most likely tokens (all)"},
       {"--top-p", Takes::value,
        "sample among the most likely tokens that add up to this probability (1)"},
       {"--stop", Takes::value, "end before this text; may be given again"},
       {"--ignore-eos", Takes::nothing, "go on after the model's end token"},
       {"--no-special-tokens", Takes::nothing,
        "leave out the tokenizer's special tokens around the prompt"},
       {"--dry-run", Takes::nothing, "show plan, memory and time, and read no weights"},
       {"--verbose", Takes::nothing, "plan, memory and tokens/s on stderr"},
       {"--json", Takes::nothing, "one JSON object (docs/schemas/generate.schema.json)"}}};
}

GenerateRequest read_generate_request(const RunArguments& arguments) {
  GenerateRequest request;
  const auto text = arguments.value("--prompt");
  const auto file = arguments.value("--prompt-file");
  request.conversation = arguments.value("--messages");
  require_one_prompt(arguments);
  request.talk = !text && !file && !request.conversation;
  request.chat = request.conversation || arguments.has("--chat");
  if (text) {
    request.prompt = *text;
  } else if (!request.talk) {
    request.prompt = text_of_file(file ? *file : request.conversation.value(), request.chat);
  }
  request.new_tokens = count_of(arguments, "--max-new-tokens", request.new_tokens);
  if (request.new_tokens < 1) throw BadRequest("--max-new-tokens: must be at least 1");
  constexpr double kHottest = 100;
  request.sampler = {.temperature = number_within(arguments, "--temperature", 0, kHottest),
                     .top_k = count_of(arguments, "--top-k", 0),
                     .top_p = number_within(arguments, "--top-p", 1, 1),
                     .seed = static_cast<std::uint64_t>(arguments.config.seed)};
  if (const auto stops = arguments.flags.find("--stop"); stops != arguments.flags.end()) {
    request.stops = stops->second;
  }
  for (const std::string& stop : request.stops) {
    if (stop.empty()) throw BadRequest("--stop: an empty text ends everything");
  }
  request.ignore_end = arguments.has("--ignore-eos");
  request.no_special = arguments.has("--no-special-tokens");
  request.dry_run = arguments.has("--dry-run");
  request.verbose = arguments.has("--verbose");
  request.json = arguments.has("--json");
  return request;
}

std::vector<std::int32_t> prompt_tokens(const GenerateRequest& request,
                                        engine::Tokenizer* tokenizer) {
  std::vector<std::int32_t> tokens;
  if (tokenizer != nullptr) {
    using Special = engine::Tokenizer::SpecialTokens;
    try {
      tokens =
          tokenizer->encode(request.prompt, request.no_special ? Special::none : Special::around);
    } catch (const BadRequest& error) {
      throw BadRequest(std::string("prompt: ") + error.what());
    }
  } else {
    tokens.reserve(request.prompt.size());
    for (const char each : request.prompt) tokens.push_back(static_cast<unsigned char>(each));
  }
  if (tokens.empty()) throw BadRequest("prompt: it has no token to continue from");
  return tokens;
}

std::vector<std::int32_t> end_tokens(const std::optional<std::filesystem::path>& folder) {
  if (!folder) return {};
  std::vector<std::int32_t> ids = ids_in(*folder / "generation_config.json");
  return ids.empty() ? ids_in(*folder / "config.json") : ids;
}

}  // namespace sluice::cli
