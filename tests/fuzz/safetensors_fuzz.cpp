#include "engine/model_files/safetensors.hpp"
#include "tests/fuzz/fuzzed.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice;
  fuzz::may_refuse([&] {
    const auto header =
        engine::read_safetensors_header(std::as_bytes(std::span(data, size)), "model.safetensors");
    for (const auto& [name, entry] : header.tensors) {
      check(entry.begin <= entry.end && header.data_begin + entry.end <= size,
            "a tensor lies in its file");
      check(entry.elements() >= 0, "a tensor has elements");
    }
  });
  return 0;
}
