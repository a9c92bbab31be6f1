#include "sim/warning.hpp"

#include <cstdio>
#include <mutex>
#include <string>
#include <utility>

#include "sim/message_line.hpp"

namespace sluice::sim {
namespace {

/// Where the process's messages go; threads of a run send them, too.
struct Messages {
  std::mutex mutex;
  MessageListener listener;
};

Messages& messages() {
  static Messages all;
  return all;
}

const char* before(MessageKind kind) {
  switch (kind) {
    case MessageKind::warning:
      return "warning: ";
    case MessageKind::note:
      return "note: ";
    case MessageKind::wait:
      break;
  }
  return "";
}

void say(MessageKind kind, std::string_view message) {
  const std::string line = message_line(message);
  Messages& all = messages();
  const std::lock_guard lock(all.mutex);
  if (all.listener) return all.listener(kind, line);
  std::fprintf(stderr, "sluice: %s%s\n", before(kind), line.c_str());
}

}  // namespace

void set_message_listener(MessageListener listener) {
  Messages& all = messages();
  const std::lock_guard lock(all.mutex);
  all.listener = std::move(listener);
}

void warn(std::string_view message) { say(MessageKind::warning, message); }
void note(std::string_view message) { say(MessageKind::note, message); }
void tell(std::string_view message) { say(MessageKind::wait, message); }

}  // namespace sluice::sim
