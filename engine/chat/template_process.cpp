#include "engine/chat/template_process.hpp"

#include <nlohmann/json.hpp>

#include "engine/chat/renderer_script.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using nlohmann::json;

/// Longest wait for a reply: many times the script's own limit for one conversation, which is in
/// processor time.
constexpr std::chrono::seconds kLongestWait(60);
constexpr Bytes kMemory(1LL << 30);

std::optional<std::string> text_in(const json& reply, const char* field) {
  const auto found = reply.find(field);
  if (found == reply.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

std::set<std::string> names_in(const json& reply, const char* field) {
  std::set<std::string> names;
  for (const json& each : reply.at(field)) names.insert(each.get<std::string>());
  return names;
}

Rendered rendered_in(const json& reply, const std::string& where) {
  if (const auto stop = text_in(reply, "stop")) {
    throw BadRequest(where + ": the chat template " + *stop);
  }
  if (auto reason = text_in(reply, "x")) return {.pieces = {}, .left_out = std::move(*reason)};
  Rendered out;
  for (const json& piece : reply.at("p")) {
    out.pieces.push_back({piece.at(0).get<std::string>(), piece.at(1) == 1});
  }
  out.doubt = text_in(reply, "w").value_or("");
  return out;
}

}  // namespace

TemplateProcess& TemplateProcess::of_program() {
  static TemplateProcess process;
  return process;
}

PythonChild& TemplateProcess::child() {
  if (!child_) {
    loaded_.clear();
    child_ = std::make_unique<PythonChild>(
        PythonScript{.purpose = "chat templates",
                     .text = kRendererScript,
                     .modules = {{"jinja2", "python3-jinja2", "jinja2"}}},
        PythonLimits{.memory = kMemory});
  }
  return *child_;
}

std::string TemplateProcess::reply_to_load(const std::string& request) {
  std::string reply = child().ask(request, kLongestWait);
  loaded_.insert(request);
  return reply;
}

LoadedTemplate TemplateProcess::load(const std::string& request, const std::string& where) {
  const std::lock_guard lock(mutex_);
  try {
    const std::string line = reply_to_load(request);
    try {
      const json reply = json::parse(line);
      for (const char* field : {"error", "stop"}) {
        if (const auto said = text_in(reply, field)) {
          throw BadRequest(where + ": the chat template " + *said);
        }
      }
      return {.jinja2 = child_->version("jinja2"),
              .reads = names_in(reply, "reads"),
              .missing = names_in(reply, "missing"),
              .turn_end = text_in(reply, "turn_end"),
              .bare = reply.at("bare").get<bool>(),
              .earlier = text_in(reply, "earlier"),
              .refusal = text_in(reply, "refusal").value_or("")};
    } catch (const json::exception&) {
      child_->refuse_reply(line);
    }
  } catch (const EnvironmentError&) {
    child_.reset();
    throw;
  }
}

std::vector<Rendered> TemplateProcess::render(const std::string& load,
                                              std::span<const std::string> requests,
                                              const std::string& where) {
  std::vector<Rendered> out;
  if (requests.empty()) return out;
  const std::lock_guard lock(mutex_);
  try {
    if (!child_ || !loaded_.contains(load)) (void)reply_to_load(load);
    child_->exchange(
        requests,
        [&](std::string_view line) {
          try {
            out.push_back(rendered_in(json::parse(line), where));
          } catch (const json::exception&) {
            child_->refuse_reply(line);
          }
          return out.size() == requests.size() ? PythonChild::Replies::complete
                                               : PythonChild::Replies::go_on;
        },
        kLongestWait);
  } catch (...) {
    child_.reset();  // Replies that nobody read would answer the next requests.
    throw;
  }
  return out;
}

}  // namespace sluice::engine
