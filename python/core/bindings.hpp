// The extension sluice._core, on which the classes of python/sluice/ are built. Results are passed
// as the JSON that the program prints, tasks as columns.
#pragma once

#include <pybind11/pybind11.h>

namespace sluice::python {

void bind_catalogue(pybind11::module_& module);
void bind_runs(pybind11::module_& module);
void bind_simulation(pybind11::module_& module);
void bind_ablations(pybind11::module_& module);

/// Maps sluice::Error to the exceptions of sluice.errors, with the same one-line message.
void bind_errors();

}  // namespace sluice::python
