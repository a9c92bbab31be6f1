// Files of a model's folder, beside its weights, that a run keeps and an export carries.
#pragma once

#include <array>

namespace sluice::engine {

/// Names of the files of tokenizer, chat template and generation. An exported folder has those that
/// the run's model had.
inline constexpr std::array kTokenizerFiles = {"tokenizer.json",
                                               "tokenizer_config.json",
                                               "special_tokens_map.json",
                                               "added_tokens.json",
                                               "vocab.json",
                                               "merges.txt",
                                               "tokenizer.model",
                                               "chat_template.jinja",
                                               "additional_chat_templates/tool_use.jinja",
                                               "chat_template.json",
                                               "generation_config.json"};

/// Name of the folder of templates beside chat_template.jinja.
inline constexpr const char* kMoreTemplates = "additional_chat_templates";

/// Name of the model folder's file that a run keeps beside its tokenizer files, because it may
/// state the tokens that end a text.
inline constexpr const char* kConfigFile = "config.json";

}  // namespace sluice::engine
