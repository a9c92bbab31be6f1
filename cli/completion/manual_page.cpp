#include "cli/completion/manual_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>

#include "sim/version.hpp"

namespace sluice::cli {
namespace {

/// Text that roff prints as it is: no escapes, no hyphens that are minus signs, no request.
std::string roff(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
  }
  return (escaped.starts_with('.') || escaped.starts_with('\'') ? "\\&" : "") + escaped;
}

/// The introduction of a verb's help, which ends where its options begin, as a paragraph a line.
std::string introduction(const DescribedVerb& verb) {
  std::string text;
  std::istringstream lines(verb.help);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  ") || line == "Options:" || line == "Positionals:") break;
    if (line.starts_with("Usage: ")) line = line.substr(7);
    if (!line.empty()) text += ".PP\n" + roff(line) + "\n";
  }
  return text;
}

std::string options(const DescribedVerb& verb) {
  std::string text;
  for (const DescribedOption& option : verb.options) {
    std::vector<std::string> names;
    for (const std::string& name : option.names) names.push_back("\\fB" + roff(name) + "\\fR");
    text += fmt::format(".TP\n{}{}\n{}\n", fmt::join(names, ", "),
                        option.value.empty() ? "" : " \\fI" + roff(option.value) + "\\fR",
                        option.text.empty() ? "\\&" : roff(option.text));
  }
  return text;
}

}  // namespace

std::string manual_page(const std::vector<DescribedVerb>& verbs) {
  std::string page = fmt::format(R"(.\" Written by `sluice completion man`.
.TH SLUICE 1 "" "sluice {}" "User Commands"
.SH NAME
sluice \- predict, plan and run the training of language models larger than the GPU's memory
.SH SYNOPSIS
.B sluice
.I VERB
[arguments]
.SH DESCRIPTION
Sluice predicts how fast a model trains on a machine, finds the plan, and trains with it.
.SH VERBS
)",
                                 roff(std::string(version())));
  for (const DescribedVerb& verb : verbs) {
    page += fmt::format(".TP\n.B {}\n{}\n", verb.name, roff(verb.summary));
  }
  for (const DescribedVerb& verb : verbs) {
    page +=
        fmt::format(".SH {}\n", roff("sluice " + verb.name)) + introduction(verb) + options(verb);
  }
  page += R"(.SH EXIT STATUS
.TP
0
done
.TP
2
the request is wrong: a line says what, and the fix
.TP
3
it does not fit: the output has up to three remedies
.TP
4
the environment failed, such as a full disk
.TP
5
a prediction that was to hold did not
.TP
75
interrupted by a signal, and what was trained is saved
.SH FILES
.TP
.I ~/.local/share/sluice
profiles, calibration and plans of this user; the variable SLUICE_HOME names another folder
)";
  return page;
}

}  // namespace sluice::cli
