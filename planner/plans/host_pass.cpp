#include "planner/plans/host_pass.hpp"

#include <algorithm>
#include <cctype>

#include "sim/error.hpp"

namespace sluice::planner {
namespace {

constexpr double kMostBytes = 1024;

bool is_name(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '_';
  });
}

}  // namespace

const char* to_string(HostPass::Moment moment) {
  return moment == HostPass::Moment::before_update ? "before_update" : "after_update";
}

const char* to_string(HostPass::Over over) { return over == HostPass::Over::all ? "all" : "ends"; }

const char* to_string(HostPass::Threads threads) {
  return threads == HostPass::Threads::one ? "one" : "all";
}

void validate(const HostPass& pass, const std::string& where) {
  if (!is_name(pass.name)) {
    throw BadRequest(where + "name: \"" + pass.name +
                     "\" must be of lower-case letters, digits and _");
  }
  if (!(pass.bytes_per_parameter > 0 && pass.bytes_per_parameter <= kMostBytes)) {
    throw BadRequest(where + "bytes: must be above 0 and at most 1024 (a parameter)");
  }
}

}  // namespace sluice::planner
