// Writes .npy files, as numpy.save lays them out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace sluice::engine::test {

/// Bytes of a .npy file's header of version 1, padded so that the values begin at a multiple of 64.
inline std::string npy_header(const std::string& type, const std::string& shape,
                              const std::string& fortran_order = "False") {
  std::string dictionary =
      "{'descr': '" + type + "', 'fortran_order': " + fortran_order + ", 'shape': " + shape + ", }";
  while ((10 + dictionary.size() + 1) % 64 != 0) dictionary += ' ';
  dictionary += '\n';
  const std::size_t length = dictionary.size();
  std::string header = "\x93NUMPY";
  header += '\x01';
  header += '\0';
  header += static_cast<char>(length & 0xff);
  header += static_cast<char>(length >> 8);
  return header + dictionary;
}

inline std::filesystem::path write_bytes(const std::filesystem::path& file,
                                         const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
  return file;
}

template <class T>
std::string bytes_of_values(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// Writes `values` with the type that NumPy calls `type`.
template <class T>
std::filesystem::path write_npy(const std::filesystem::path& file, const std::string& type,
                                const std::string& shape, const std::vector<T>& values) {
  return write_bytes(file, npy_header(type, shape) + bytes_of_values(values));
}

}  // namespace sluice::engine::test
