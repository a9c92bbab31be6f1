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

/// Facts about a template that the Python process found when it compiled the template.
struct LoadedTemplate {
  std::string jinja2;  ///< Version of the Python library jinja2.
  /// Names that the template reads, of special tokens and dates: "bos_token", "date_string".
  std::set<std::string> reads;
  /// Tokens that the template writes and was not given: "bos_token", "eos_token".
  std::set<std::string> missing;
  /// Special token behind the assistant's turns; none without.
  std::optional<std::string> turn_end;
  /// Whether nothing ends an answer that another question follows: the token behind it begins that
  /// question.
  bool bare = false;
  /// Text that Sluice 0.1.0 hashed for this template; none for templates that it refused.
  std::optional<std::string> earlier;
  /// Reason why the template refuses a question with its answer; empty if it renders them.
  std::string refusal;
};

/// The Python process in which all templates of the program are compiled and run. It starts with
/// the first template, and again after a failure. Any thread may call; one request is served at a
/// time.
class TemplateProcess {
 public:
  /// The one process that all templates of this program share, so that Python starts once.
  static TemplateProcess& of_program();

  /// Compiles a template. `request` is a line of JSON with its sources, special tokens and date;
  /// `where`, the template's file, begins messages. Throws BadRequest `WHERE: ...` if it is no
  /// Jinja template, EnvironmentError if there is no Python with jinja2.
  LoadedTemplate load(const std::string& request, const std::string& where);
  /// Sends `requests`, lines of JSON with one conversation each, and returns the replies in order.
  /// `load` is the request that compiles their template, sent first if the process does not have
  /// the template (any more). Throws BadRequest naming `where` if the template takes too much time
  /// or memory, EnvironmentError if the process fails.
  std::vector<Rendered> render(const std::string& load, std::span<const std::string> requests,
                               const std::string& where);

 private:
  PythonChild& child();
  std::string reply_to_load(const std::string& request);

  std::mutex mutex_;
  std::unique_ptr<PythonChild> child_;
  /// Requests to compile a template that this process has served.
  std::set<std::string, std::less<>> loaded_;
};

}  // namespace sluice::engine
