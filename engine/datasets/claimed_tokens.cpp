#include "engine/datasets/claimed_tokens.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/chat/special_tokens.hpp"
#include "planner/runs/refusal.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

std::string quoted(const std::string& text) { return nlohmann::json(text).dump(); }

/// The refusal of a text that is no single token.
std::string no_token(const std::string& key, const std::string& text, const std::string& folder) {
  return key + ": " + quoted(text) + " is no token of " + folder +
         ": add it to the model's folder first, in Python: tokenizer.add_tokens([" + quoted(text) +
         "]), model.resize_token_embeddings(len(tokenizer)), and save_pretrained of both";
}

}  // namespace

void require_claims(const planner::TokenizerClaims& claims, const TokenizerFolder& folder,
                    const ChatTemplate* chat, bool texts) {
  std::vector<planner::Refusal> refusals;
  const auto refuse = [&refusals](const std::string& key, const std::string& message) {
    refusals.push_back({key, message});
  };
  const std::string place = folder.folder.string();
  const SpecialTokens found =
      claims.special.empty() ? SpecialTokens{} : read_special_tokens(folder.folder);
  for (const auto& [name, text] : claims.special) {
    const auto own = found.named.find(name);
    if (own != found.named.end() && own->second == text) continue;
    if (!texts && name == "eos_token" && chat->turn_end() == text) continue;
    const std::string key = "special_tokens." + name;
    refuse(key, key + ": is " + quoted(text) + ", and the tokenizer of " + place + " has " +
                    (own == found.named.end() ? "none" : quoted(own->second)) + ": write \"" +
                    name + "\": " + quoted(text) + " into " + place +
                    "/tokenizer_config.json, or leave it out");
  }
  if (!claims.tokens.empty()) {
    const Tokenizer tokenizer = folder.load();
    for (const auto& [key, tokens] : claims.tokens) {
      for (const std::string& text : tokens) {
        if (!tokenizer.find(text)) refuse(key, no_token(key, text, place));
      }
    }
  }
  if (chat != nullptr && !claims.turn_ends.empty()) {
    const auto end = chat->turn_end();
    if (!end || std::ranges::find(claims.turn_ends, *end) == claims.turn_ends.end()) {
      refuse("eot_tokens", "eot_tokens: the chat template " + chat->name() + " ends answers with " +
                               (end ? quoted(*end) : "no special token") +
                               ", which is what is learnt: name that one, or choose the template "
                               "that ends them as you say");
    }
  }
  planner::throw_if_any(refusals);
}

}  // namespace sluice::engine
