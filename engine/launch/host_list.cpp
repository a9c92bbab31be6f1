#include "engine/launch/host_list.hpp"

#include "sim/error.hpp"

namespace sluice::engine {

// Each pair of brackets holds ranges; the first host takes the first number of the first range of
// each, with its zeros: r[1-2]n[03,5] begins with r1n03.
std::string first_host(const std::string& list) {
  std::string host;
  for (std::size_t at = 0; at < list.size() && list[at] != ','; ++at) {
    if (list[at] != '[') {
      host += list[at];
      continue;
    }
    const std::size_t end = list.find(']', at);
    const std::size_t number_end = list.find_first_of("-,]", at);
    if (end == std::string::npos || number_end == at + 1) {
      throw BadRequest("launch: SLURM_STEP_NODELIST " + list +
                       " is no list of hosts: set SLUICE_ADDRESS to the first rank's HOST:PORT");
    }
    host += list.substr(at + 1, number_end - at - 1);
    at = end;
  }
  if (!host.empty()) return host;
  throw BadRequest(
      "launch: SLURM_STEP_NODELIST is empty: set SLUICE_ADDRESS to the first rank's HOST:PORT");
}

}  // namespace sluice::engine
