#include "python/core/messages.hpp"

#include <pybind11/pybind11.h>

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "sim/warning.hpp"

namespace sluice::python {
namespace {

/// Messages that wait for a thread which may run Python.
struct Kept {
  std::mutex mutex;
  std::vector<std::string> lines;
};

Kept& kept() {
  static Kept all;
  return all;
}

/// The messages that were kept, which are no longer.
std::vector<std::string> taken_lines() {
  std::vector<std::string> lines;
  Kept& all = kept();
  const std::lock_guard lock(all.mutex);
  lines.swap(all.lines);
  return lines;
}

/// Frames between the extension and its user: the function of the package that calls it.
constexpr Py_ssize_t kStackLevel = 2;

}  // namespace

void take_messages() {
  sim::set_message_listener([](sim::MessageKind kind, const std::string& line) {
    if (kind == sim::MessageKind::wait) return;
    Kept& all = kept();
    const std::lock_guard lock(all.mutex);
    all.lines.push_back(line);
  });
}

void drop_messages() { (void)taken_lines(); }

void give_messages() {
  for (const std::string& line : taken_lines()) {
    if (PyErr_WarnEx(PyExc_UserWarning, line.c_str(), kStackLevel) != 0) {
      throw pybind11::error_already_set();
    }
  }
}

}  // namespace sluice::python
