// The program: finds the verb, runs it, and turns every failure into one line and an exit code.
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <ios>
#include <iostream>
#include <new>
#include <system_error>

#include "cli/words/parse.hpp"
#include "cli/words/verbs.hpp"
#include "sim/bad_requests.hpp"
#include "sim/message_line.hpp"
#include "sim/nearest_name.hpp"
#include "sim/utf8.hpp"
#include "sim/version.hpp"

namespace sluice::cli {

std::span<const Verb> verbs() {
  static constexpr Verb kVerbs[] = {
#define SLUICE_VERB(name, summary) {#name, summary, &run_##name},
#include "cli/words/verbs.def"
#undef SLUICE_VERB
      {nullptr, nullptr, nullptr}};
  return std::span(kVerbs, std::size(kVerbs) - 1);
}

namespace {

void print_help() {
  std::cout << "Sluice predicts how fast a model trains on a machine, finds the plan, and trains "
               "with it.\n\nUsage: sluice VERB [arguments]\n\nVerbs:\n";
  for (const Verb& verb : verbs()) {
    std::cout << "  " << verb.name << std::string(12 - std::strlen(verb.name), ' ') << verb.summary
              << '\n';
  }
  std::cout
      << "\nsluice VERB --help says what a verb takes; sluice --version prints the version.\n";
}

/// Throws BadRequest for arguments that are not UTF-8: all output is UTF-8, and includes names of
/// files.
void require_utf8(std::span<char*> words) {
  for (const char* word : words) {
    if (sim::first_not_utf8(word)) {
      throw BadRequest("\"" + std::string(word) + "\" is not UTF-8; write or name it in UTF-8");
    }
  }
}

int dispatch(std::span<char*> words) {
  require_utf8(words);
  if (words.size() < 2) {
    throw BadRequest("a verb is missing; sluice --help lists them");
  }
  const std::string word = words[1];
  if (word == "help" && words.size() > 2) {
    std::string flag = "--help";
    std::array<char*, 3> asked{words[0], words[2], flag.data()};
    return dispatch(asked);
  }
  if (word == "--help" || word == "-h" || word == "help") {
    print_help();
    return 0;
  }
  if (word == "--version") {
    std::cout << "sluice " << version() << " (" << commit() << ")\n";
    return 0;
  }
  const auto found =
      std::ranges::find_if(verbs(), [&word](const Verb& verb) { return word == verb.name; });
  if (found == verbs().end()) {
    std::vector<std::string> names;
    for (const Verb& verb : verbs()) names.emplace_back(verb.name);
    throw BadRequest("unknown verb \"" + word + "\"" + sim::did_you_mean(word, names) +
                     " (sluice --help lists them)");
  }
  return found->run(Arguments{{words.begin() + 2, words.end()}});
}

/// Flushes stdout and throws if that fails, because a full disk must not look like success.
void flush_output() {
  errno = 0;
  std::cout.flush();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout) {
    const int reason = errno;
    throw EnvironmentError(std::string("cannot write to standard output") +
                           (reason != 0 ? std::string(": ") + std::strerror(reason) : ""));
  }
}

int report(ExitCode code, const std::string& message) {
  std::cerr << "sluice: error: " << sim::message_line(message) << std::endl;
  return static_cast<int>(code);
}

int guarded(std::span<char*> words) {
  try {
    int code = 0;
    try {
      code = dispatch(words);
    } catch (const HelpShown&) {
    }
    flush_output();
    return code;
  } catch (const BadRequests& error) {
    std::cout.flush();
    for (const std::string& message : error.messages()) report(error.code(), message);
    return static_cast<int>(error.code());
  } catch (const Error& error) {
    std::cout.flush();
    return report(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return report(ExitCode::environment, "out of memory");
  } catch (const std::filesystem::filesystem_error& error) {
    return report(ExitCode::environment, error.code().message() + ": " + error.path1().string());
  } catch (const std::system_error& error) {
    return report(ExitCode::environment, error.what());
  } catch (const std::exception& error) {
    return report(ExitCode::environment,
                  std::string("this is a bug in Sluice, please report it: ") + error.what());
  }
}

}  // namespace
}  // namespace sluice::cli

int main(int argc, char** argv) {
  // A file at its size limit is treated like a full disk: the write fails, not the program.
  std::signal(SIGXFSZ, SIG_IGN);
  return sluice::cli::guarded({argv, static_cast<std::size_t>(argc)});
}
