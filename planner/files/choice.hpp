// Parser for enumerators written by name in files: one template for every enum.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "sim/error.hpp"
#include "sim/nearest_name.hpp"

namespace sluice::planner {

/// The member of `choices` whose to_string() equals `text`. Throws BadRequest `WHERE: "text" is not
/// one of ...; did you mean ...` where there is none.
template <class Enum>
[[nodiscard]] Enum parse_choice(const std::string& text, const std::string& where,
                                std::initializer_list<Enum> choices) {
  std::vector<std::string> names;
  std::string all;
  for (const Enum choice : choices) {
    if (text == to_string(choice)) return choice;
    names.emplace_back(to_string(choice));
    all.append(all.empty() ? "" : ", ").append(names.back());
  }
  throw BadRequest(where + ": \"" + text + "\" is not one of " + all +
                   sim::did_you_mean(text, names));
}

}  // namespace sluice::planner
