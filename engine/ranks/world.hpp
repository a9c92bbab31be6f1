// The ranks that train one job together, as one of them sees them.
#pragma once

namespace sluice::engine {

/// The place of one rank among all: `rank` is 0 to `size` - 1.
struct World {
  int rank = 0;
  int size = 1;
  friend bool operator==(const World&, const World&) = default;
};

}  // namespace sluice::engine
