// The Python process that runs chat templates.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/chat/chat_template.hpp"
#include "engine/python/python_child.hpp"

namespace sluice::engine {

/// Facts about a template that the Python process has compiled.
struct LoadedTemplate {
  std::string jinja2;                   ///< Version of the library.
  std::set<std::string> reads;          ///< Names of tokens and dates that the template reads.
  std::set<std::string> missing;        ///< Tokens that it writes and was not given.
  std::optional<std::string> turn_end;  ///< Special token that ends the assistant's turns.
  std::optional<std::string> earlier;   ///< Text that Sluice 0.1.0 hashed for it, if known there.
  /// Reason why the template refuses a question with its answer; empty if it renders them.
  std::string refusal;
};

/// The process in which all templates of the program run. It starts with the first template, and
/// again after a failure. Any thread may call; one request is served at a time.
class TemplateProcess {
 public:
  /// The one process that all templates of this program share, so that Python starts once.
  static TemplateProcess& of_program();

  /// Compiles the template of a request made by load_request(). Throws BadRequest `WHERE: ...` if
  /// it is no Jinja template, EnvironmentError if there is no Python with jinja2.
  LoadedTemplate load(const std::string& request, const std::string& where);
  /// Sends requests that name the template by `key`, and returns their replies. `load` is the
  /// request that loads it, should the process have to start again. Throws BadRequest naming
  /// `where` if the template takes too much time or memory.
  std::vector<Rendered> render(const std::string& load, std::span<const std::string> requests,
                               const std::string& where);

 private:
  PythonChild& child();
  std::string reply_to_load(const std::string& request);

  std::mutex mutex_;
  std::unique_ptr<PythonChild> child_;
  std::set<std::string, std::less<>> loaded_;  ///< Load requests that the process has served.
};

}  // namespace sluice::engine
