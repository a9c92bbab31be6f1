// NumPy arrays of numbers.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <span>
#include <type_traits>

namespace sluice::python {

/// The numbers as a NumPy array of float64 or int64. It is made in Python, because pybind11's
/// arrays depend on the internals of one major version of NumPy, and an older pybind11 fills arrays
/// of NumPy 2 wrongly.
template <class Number>
pybind11::object number_array(std::span<const Number> numbers) {
  static_assert(sizeof(Number) == 8);
  const char* type = std::is_floating_point_v<Number> ? "float64" : "int64";
  const pybind11::module_ numpy = pybind11::module_::import("numpy");
  if (numbers.empty()) return numpy.attr("empty")(0, type);
  const auto* bytes = reinterpret_cast<const char*>(numbers.data());
  return numpy.attr("frombuffer")(pybind11::bytearray(bytes, numbers.size_bytes()), type);
}

}  // namespace sluice::python
