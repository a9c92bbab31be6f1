// Entries of a dataset_info.json.
#include <nlohmann/json.hpp>

#include "engine/examples/registry_entry.hpp"
#include "engine/model_files/strict_json.hpp"
#include "tests/fuzz/fuzzed.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice;
  fuzz::may_refuse([&] {
    const auto registry =
        engine::parse_strict_json(fuzz::text_of(data, size), "dataset_info.json", 16);
    if (!registry.is_object()) return;
    for (const auto& [name, entry] : registry.items()) {
      fuzz::may_refuse([&, &entry = entry] {
        const auto dataset = engine::RegistryEntry(entry, "dataset_info.json").dataset("nowhere");
        if (dataset.format) (void)dataset.format->canonical();
      });
    }
  });
  return 0;
}
