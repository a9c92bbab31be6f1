#include "planner/machines/knowledge.hpp"

namespace sluice::planner {

const char* to_string(ProbeDepth depth) {
  switch (depth) {
    case ProbeDepth::unstated:
      break;
    case ProbeDepth::quick:
      return "quick";
    case ProbeDepth::full:
      return "full";
  }
  return "";
}

const char* to_string(Knowledge knowledge) {
  switch (knowledge) {
    case Knowledge::catalogue:
      return "catalogue";
    case Knowledge::catalogue_host_stated:
      return "catalogue, host stated";
    case Knowledge::probe:
      return "probe";
    case Knowledge::quick_probe:
      return "quick probe";
    case Knowledge::full_probe:
      return "full probe";
    case Knowledge::taught:
      break;
  }
  return "taught";
}

}  // namespace sluice::planner
