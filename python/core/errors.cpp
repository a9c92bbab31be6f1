#include <pybind11/pybind11.h>

#include <exception>
#include <filesystem>
#include <string>

#include "python/core/bindings.hpp"
#include "sim/error.hpp"

namespace sluice::python {
namespace {

const char* exception_of(ExitCode code) {
  switch (code) {
    case ExitCode::bad_request:
      return "BadRequest";
    case ExitCode::environment:
      return "EnvironmentFailed";
    default:
      return "SluiceError";
  }
}

}  // namespace

void bind_errors() {
  // The library's signature. NOLINTNEXTLINE(performance-unnecessary-value-param)
  pybind11::register_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const Error& error) {
      const auto errors = pybind11::module_::import("sluice.errors");
      PyErr_SetString(errors.attr(exception_of(error.code())).ptr(), error.what());
    } catch (const std::filesystem::filesystem_error& error) {
      const auto errors = pybind11::module_::import("sluice.errors");
      const std::string line = error.code().message() + ": " + error.path1().string();
      PyErr_SetString(errors.attr("EnvironmentFailed").ptr(), line.c_str());
    }
  });
}

}  // namespace sluice::python
