// The extension sluice._core: what python/sluice/ builds its classes on. Results cross as the JSON
// that the program prints, and tasks as columns.
#pragma once

#include <pybind11/pybind11.h>

namespace sluice::python {

void bind_catalogue(pybind11::module_& module);
void bind_runs(pybind11::module_& module);
void bind_simulation(pybind11::module_& module);
void bind_ablations(pybind11::module_& module);

/// Turns sluice::Error into the exceptions of sluice.errors, with the same one line.
void bind_errors();

}  // namespace sluice::python
