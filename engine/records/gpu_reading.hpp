// Temperature, power and clock of a GPU.
#pragma once

namespace sluice::engine {

/// What a GPU's sensors say.
struct GpuReading {
  double temperature = 0;  ///< Degrees Celsius.
  double power = 0;        ///< Watts.
  double clock = 0;        ///< Hertz, of the multiprocessors.
};

}  // namespace sluice::engine
