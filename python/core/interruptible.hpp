// Long calls from Python, during which other Python threads run and Ctrl-C works.
#pragma once

#include <pybind11/pybind11.h>

#include <chrono>
#include <exception>
#include <future>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "python/core/messages.hpp"

namespace sluice::python {

/// Time between two checks for signals during a long call.
inline constexpr std::chrono::milliseconds kSignalCheck{20};

/// Calls `work(stop)` on another thread with the interpreter's lock released. Meanwhile, and at the
/// end, messages become Python warnings. If a signal handler raises (Ctrl-C), or a warning that is
/// an error, it asks `work` to stop, waits until it has stopped, and raises that exception.
template <class Work>
auto interruptible(const Work& work) {
  std::stop_source stop;
  auto task = std::async(std::launch::async, [&] { return work(stop.get_token()); });
  std::optional<pybind11::error_already_set> raised;
  while (true) {
    std::future_status status{};
    {
      const pybind11::gil_scoped_release released;
      status = task.wait_for(kSignalCheck);
    }
    if (status == std::future_status::ready) break;
    try {
      if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
      give_messages();
      continue;
    } catch (pybind11::error_already_set& error) {
      raised.emplace(std::move(error));
    }
    stop.request_stop();
    const pybind11::gil_scoped_release released;
    task.wait();
    break;
  }
  if (raised) {
    try {
      task.get();
    } catch (const std::exception&) {  // Interrupted, which `raised` says better.
    }
    drop_messages();
    throw std::move(*raised);
  }
  give_messages();
  return task.get();
}

}  // namespace sluice::python
