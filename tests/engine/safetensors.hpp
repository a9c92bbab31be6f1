// Reads the reference fixtures: small safetensors files.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sluice::engine::testing {

struct FixtureTensor {
  std::vector<std::int64_t> shape;
  std::vector<double> values;  ///< F32, F64 and I32 all fit.
};

struct Fixture {
  std::map<std::string, std::string> metadata;
  std::map<std::string, FixtureTensor> tensors;
  [[nodiscard]] const FixtureTensor& tensor(const std::string& name) const;
};

/// Throws std::runtime_error naming the file where it is not what it should be.
[[nodiscard]] Fixture read_fixture(const std::string& path);

}  // namespace sluice::engine::testing
