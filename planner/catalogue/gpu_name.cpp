#include "planner/catalogue/gpu_name.hpp"

#include <algorithm>
#include <cctype>
#include <string>

namespace sluice::planner {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return result;
}

}  // namespace

bool names_gpu(std::string_view machine, std::string_view gpu) {
  const std::string name = lower(gpu);
  const std::string words = lower(machine);
  for (std::size_t begin = 0; begin < words.size();) {
    const std::size_t end = std::min(words.find('-', begin), words.size());
    const std::string word = words.substr(begin, end - begin);
    // The driver calls an H100 in an SXM socket "H100 80GB HBM3", and names the others' boards.
    const bool implied = word == "sxm" && name.find("hbm3") != std::string::npos;
    if (!implied && name.find(word) == std::string::npos) return false;
    begin = end + 1;
  }
  return !words.empty();
}

const GpuPart* gpu_named(std::string_view gpu) {
  const GpuPart* named = nullptr;
  for (const GpuPart& part : gpu_parts()) {
    const bool longer = named == nullptr || part.name.size() > named->name.size();
    if (longer && names_gpu(part.name, gpu)) named = &part;
  }
  return named;
}

}  // namespace sluice::planner
