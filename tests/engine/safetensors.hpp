// Reader of the reference fixtures, which are small safetensors files.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sluice::engine::testing {

struct FixtureTensor {
  std::vector<std::int64_t> shape;
  /// Values of any of the types F32, F64 and I32, which double represents exactly.
  std::vector<double> values;
};

struct Fixture {
  std::map<std::string, std::string> metadata;
  std::map<std::string, FixtureTensor> tensors;
  [[nodiscard]] const FixtureTensor& tensor(const std::string& name) const;
};

/// Reads a fixture. Throws std::runtime_error naming the file if it is not as expected.
[[nodiscard]] Fixture read_fixture(const std::string& path);

}  // namespace sluice::engine::testing
