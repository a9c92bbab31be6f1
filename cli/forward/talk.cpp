#include "cli/forward/talk.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "cli/forward/generated.hpp"
#include "cli/forward/generation_plan.hpp"
#include "cli/shown/prediction_table.hpp"
#include "sim/error.hpp"
#include "sim/warning.hpp"

namespace sluice::cli {
namespace {

/// Tokens that a talk has room for where neither the model nor the user says.
constexpr std::int64_t kUsualRoom = 4096;

/// Lines of stdin, which a terminal is asked for.
class Lines {
 public:
  [[nodiscard]] bool asked_for() const { return terminal_; }

  /// The next line that is not blank; none at the end.
  std::optional<std::string> next() {
    for (std::string line;;) {
      if (terminal_) std::fputs("> ", stderr);
      if (!std::getline(std::cin, line)) {
        if (terminal_) std::fputs("\n", stderr);
        return std::nullopt;
      }
      constexpr std::string_view kMark = "\xEF\xBB\xBF";
      if (first_ && line.starts_with(kMark)) line.erase(0, kMark.size());
      first_ = false;
      if (line.ends_with('\r')) line.pop_back();
      if (line.find_first_not_of(" \t") != std::string::npos) return line;
    }
  }

 private:
  bool terminal_ = isatty(STDIN_FILENO) != 0;
  bool first_ = true;
};

/// The turns of a talk so far, of which the first are left out where they no longer fit.
class Turns {
 public:
  Turns(const Talk& talk, std::int64_t room, std::int64_t vocab)
      : talk_(talk), room_(room), vocab_(vocab) {}

  void clear() { conversation_.messages.clear(); }

  /// Adds a message of the user, and returns the tokens of all that is to be continued. Throws
  /// BadRequest, without the message, if it cannot be rendered or has no room.
  std::vector<std::int32_t> ask(const std::string& message) {
    engine::Conversation asked = conversation_;
    asked.messages.push_back(engine::chat_message("user", message));
    for (std::int64_t left_out = 0;; left_out += kExchange) {
      std::vector<std::int32_t> tokens = talk_.tokenizer.encode(
          talk_.chat.render_prompt(asked), engine::Tokenizer::SpecialTokens::none);
      const std::int64_t needed = std::ssize(tokens) + talk_.request.new_tokens;
      if (!tokens.empty() && needed <= room_) {
        require_vocabulary(*std::ranges::max_element(tokens) + 1, vocab_);
        if (left_out > 0) {
          sim::note(fmt::format("the first {} turns are left out: there is room for {} tokens",
                                left_out, room_));
        }
        conversation_ = std::move(asked);
        return tokens;
      }
      if (asked.messages.size() <= kExchange) refuse(std::ssize(tokens));
      asked.messages.erase(asked.messages.begin(), asked.messages.begin() + kExchange);
    }
  }

  void add_answer(const std::string& text) {
    conversation_.messages.push_back(engine::chat_message("assistant", text));
  }

 private:
  static constexpr std::int64_t kExchange = 2;  ///< Turns of a message and its answer.

  [[noreturn]] void refuse(std::int64_t tokens) const {
    if (tokens == 0) throw BadRequest("--chat: the message has no token to continue from");
    throw BadRequest(fmt::format(
        "--chat: the message has {} tokens, and with up to {} new ones there is room for {}: write "
        "less, or raise --seq-len",
        tokens, talk_.request.new_tokens, room_));
  }

  const Talk& talk_;
  std::int64_t room_, vocab_;
  engine::Conversation conversation_;
};

/// Number of tokens that the talk is to have room for.
std::int64_t wanted_room(const Talk& talk) {
  const planner::RunConfig& config = talk.subject.config();
  if (talk.subject.states("seq_len")) return config.seq_len;
  return kUsualRoom;
}

void require_room(const Talk& talk, std::int64_t room) {
  if (talk.request.new_tokens < room) return;
  throw BadRequest(fmt::format(
      "--max-new-tokens: {} new tokens leave no room for messages among {}: give fewer, or raise "
      "--seq-len",
      talk.request.new_tokens, room));
}

/// A model that is loaded, and what it generates.
class Speaker {
 public:
  Speaker(const Talk& talk, const GenerationPlan& plan, const planner::ResolvedMachine& machine)
      : talk_(talk),
        plan_(plan),
        device_(talk.subject.load(plan.job, machine, plan.prompt_part.graph)) {}

  Generated answer(const std::vector<std::int32_t>& prompt) {
    if (!session_) {
      generation_.emplace(plan_.job, prompt,
                          engine::GenerationSettings{.new_tokens = talk_.request.new_tokens,
                                                     .end_tokens = talk_.ends,
                                                     .sampler = talk_.request.sampler});
      session_.emplace(planner::ForwardGoal::next_token, plan_.prompt_part.graph,
                       std::move(device_), *generation_);
    } else {
      generation_->restart(prompt);
    }
    constexpr bool kShow = true;
    engine::GeneratedText text(decoder_of(&talk_.tokenizer), talk_.request.stops);
    return generate(*generation_, *session_, text, kShow);
  }

 private:
  const Talk& talk_;
  const GenerationPlan& plan_;
  std::unique_ptr<engine::Device> device_;
  std::optional<engine::Generation> generation_;
  std::optional<engine::ForwardSession> session_;
};

/// Answers one message.
void answer(const Talk& talk, const std::string& message, Turns& turns, Speaker& speaker) {
  const Generated answer = speaker.answer(turns.ask(message));
  turns.add_answer(answer.text);
  if (answer.ended_by == "length") {
    sim::note(fmt::format("the answer was cut after {} tokens: raise --max-new-tokens",
                          talk.request.new_tokens));
  }
  if (talk.request.verbose) std::fputs(result_text(answer).c_str(), stderr);
}

void talk_with(const Talk& talk, Turns& turns, Speaker& speaker) {
  Lines lines;
  if (lines.asked_for()) std::fputs("/exit or Ctrl-D ends, /clear begins anew\n", stderr);
  while (const auto line = lines.next()) {
    if (*line == "/exit") return;
    if (*line == "/clear") {
      turns.clear();
      continue;
    }
    try {
      answer(talk, *line, turns, speaker);
    } catch (const BadRequest& error) {
      if (!lines.asked_for()) throw;
      sim::tell(std::string("error: ") + error.what());
    }
  }
}

}  // namespace

int talk(const Talk& talk) {
  const GenerateRequest& asked = talk.request;
  if (asked.json) {
    throw BadRequest("--json: needs a prompt: give --prompt, --prompt-file or --messages");
  }
  std::int64_t room = wanted_room(talk);
  require_room(talk, room);
  set_sizes(talk.subject.config(), room);
  const planner::Request planning = talk.subject.resolve();
  const planner::Job& job = planning.predictor.job();
  require_executable(job);
  if (job.model.max_positions && !talk.subject.states("seq_len")) {
    room = std::min(room, *job.model.max_positions);
    require_room(talk, room);
  }
  warn_of_positions(job.model, room - asked.new_tokens, asked.new_tokens);
  auto found = plan_generation(planning.predictor, room - asked.new_tokens, asked.new_tokens);
  while (std::holds_alternative<planner::Infeasible>(found) && room / 2 > asked.new_tokens &&
         !talk.subject.states("seq_len")) {
    room /= 2;
    found = plan_generation(planning.predictor, room - asked.new_tokens, asked.new_tokens);
  }
  if (const auto* infeasible = std::get_if<planner::Infeasible>(&found)) {
    return refuse_forward(*infeasible, asked.json);
  }
  const GenerationPlan& plan = std::get<GenerationPlan>(found);
  const planner::ResolvedMachine& machine = planning.predictor.machine();
  const std::string beginning = plan_text(plan, machine, room - asked.new_tokens, asked.new_tokens);
  if (asked.dry_run) {
    print(beginning);
    return static_cast<int>(ExitCode::done);
  }
  if (asked.verbose) std::fputs(beginning.c_str(), stderr);
  Speaker speaker(talk, plan, machine);
  Turns turns(talk, room, job.model.vocab);
  talk_with(talk, turns, speaker);
  return static_cast<int>(ExitCode::done);
}

}  // namespace sluice::cli
