#include "engine/ranks/control.hpp"

namespace sluice::engine {

std::string Control::broadcast(const std::string& text, int root) {
  std::vector<std::string> texts = gather(world().rank == root ? text : std::string());
  return std::move(texts[static_cast<std::size_t>(root)]);
}

}  // namespace sluice::engine
