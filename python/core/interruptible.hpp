// Long calls from Python: other Python threads run meanwhile, and Ctrl-C ends them.
#pragma once

#include <pybind11/pybind11.h>

#include <chrono>
#include <exception>
#include <future>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

namespace sluice::python {

/// How often a long call looks for signals.
inline constexpr std::chrono::milliseconds kSignalCheck{20};

/// Calls `work(stop)` on a thread of its own with the interpreter's lock released. A signal whose
/// handler raises (Ctrl-C) asks `work` to stop, waits until it did, and raises what the handler
/// did.
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
    if (PyErr_CheckSignals() == 0) continue;
    raised.emplace();
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
    throw std::move(*raised);
  }
  return task.get();
}

}  // namespace sluice::python
