#include "sim/warning.hpp"

#include <cstdio>
#include <string>

#include "sim/message_line.hpp"

namespace sluice::sim {
namespace {

void say(const char* before, std::string_view message) {
  std::fprintf(stderr, "sluice: %s%s\n", before, message_line(message).c_str());
}

}  // namespace

void warn(std::string_view message) { say("warning: ", message); }
void note(std::string_view message) { say("note: ", message); }
void tell(std::string_view message) { say("", message); }

}  // namespace sluice::sim
