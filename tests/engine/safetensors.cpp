#include "tests/engine/safetensors.hpp"

#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace sluice::engine::testing {
namespace {

template <class Element>
std::vector<double> values_of(const char* begin, const char* end) {
  std::vector<double> values;
  for (const char* p = begin; p < end; p += sizeof(Element)) {
    Element element;
    std::memcpy(&element, p, sizeof element);
    values.push_back(static_cast<double>(element));
  }
  return values;
}

}  // namespace

const FixtureTensor& Fixture::tensor(const std::string& name) const {
  const auto found = tensors.find(name);
  if (found == tensors.end()) throw std::runtime_error("the fixture has no tensor " + name);
  return found->second;
}

Fixture read_fixture(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::uint64_t header_size = 0;
  if (bytes.size() < 8) throw std::runtime_error(path + ": not a safetensors file");
  std::memcpy(&header_size, bytes.data(), 8);
  if (header_size > bytes.size() - 8) throw std::runtime_error(path + ": cut short");
  const auto header = nlohmann::json::parse(bytes.substr(8, header_size));
  const std::size_t data_size = bytes.size() - 8 - header_size;
  const char* data = bytes.data() + 8 + header_size;
  Fixture fixture;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      fixture.metadata = entry.get<std::map<std::string, std::string>>();
      continue;
    }
    const auto offsets = entry.at("data_offsets").get<std::vector<std::size_t>>();
    if (offsets.at(1) > data_size) throw std::runtime_error(path + ": cut short in " + name);
    const char* begin = data + offsets.at(0);
    const char* end = data + offsets.at(1);
    const auto type = entry.at("dtype").get<std::string>();
    FixtureTensor tensor{entry.at("shape").get<std::vector<std::int64_t>>(), {}};
    if (type == "F32") tensor.values = values_of<float>(begin, end);
    if (type == "F64") tensor.values = values_of<double>(begin, end);
    if (type == "I32") tensor.values = values_of<std::int32_t>(begin, end);
    fixture.tensors.emplace(name, std::move(tensor));
  }
  return fixture;
}

}  // namespace sluice::engine::testing
