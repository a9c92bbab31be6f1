// Temperature, power and clock of a GPU.
#pragma once

namespace sluice::engine {

/// One reading of a GPU's sensors.
struct GpuReading {
  double temperature = 0;  ///< Temperature in degrees Celsius.
  double power = 0;        ///< Power in watts.
  double clock = 0;        ///< Clock of the multiprocessors in hertz.
};

}  // namespace sluice::engine
