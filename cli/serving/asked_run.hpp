// A run as the page's form states it, turned into words of the command line.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace sluice::cli {

/// Parameters of a request by name; the last of a repeated one holds.
using Query = std::map<std::string, std::string>;

/// A question of the page, which decides what parameters a request may have.
enum class Question { prediction, purchase };

/// Flags of the command line for a request's parameters, such as {"--model", "qwen3-8b"}. Only
/// names that the catalogue has are taken for models, machines, parts and policies, and only
/// numbers and sizes for the rest, so that no word is ever read as a path. Throws BadRequest that
/// names the parameter.
[[nodiscard]] std::vector<std::string> run_words(const Query& query, Question question);

}  // namespace sluice::cli
