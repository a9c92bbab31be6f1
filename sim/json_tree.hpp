// Conversion of a document's values to a tree of nlohmann's library, which can be changed and
// written.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "sim/json_document.hpp"

namespace sluice::sim {

/// JSON tree that can be changed and written, and whose keys keep their file order.
using Json = nlohmann::ordered_json;

/// Builds trees from values. `Tree` is nlohmann's json or ordered_json; a file that uses this class
/// must include <nlohmann/json.hpp>.
template <class Tree>
class JsonTreeBuilder {
 public:
  /// Copies `value` and everything in it, in linear time and at any depth.
  static Tree build(const JsonValue& value) {
    Tree root;
    std::vector<Open> open;
    begin(value, root, open);
    while (!open.empty()) {
      Open& last = open.back();
      if (last.next == last.end) {
        open.pop_back();
        continue;
      }
      const JsonValue child = *last.next;
      ++last.next;
      begin(child, added(*last.tree, child), open);
    }
    return root;
  }

 private:
  /// A list or object that is being copied: its copy, and the items that are still to be copied.
  struct Open {
    Tree* tree;
    JsonValue::Iterator next;
    JsonValue::Iterator end;
  };

  static void begin(const JsonValue& value, Tree& tree, std::vector<Open>& open) {
    tree = scalar(value);
    if (!value.is_list() && !value.is_object()) return;
    if (value.is_list()) tree.template get_ref<typename Tree::array_t&>().reserve(value.size());
    if constexpr (kInFileOrder) {
      if (value.is_object()) {
        tree.template get_ref<typename Tree::object_t&>().reserve(value.size());
      }
    }
    open.push_back({&tree, value.begin(), value.end()});
  }

  /// Appends a null to `tree`, a list or an object, and returns it. Lists and objects in file order
  /// have room for all items, so that pointers to earlier ones stay valid.
  static Tree& added(Tree& tree, const JsonValue& child) {
    if (tree.is_array()) {
      return tree.template get_ref<typename Tree::array_t&>().emplace_back();
    }
    auto& members = tree.template get_ref<typename Tree::object_t&>();
    if constexpr (kInFileOrder) {  // emplace() would look for the name among all members.
      return members.emplace_back(std::string(child.key()), Tree()).second;
    } else {
      return members.emplace(std::string(child.key()), Tree()).first->second;
    }
  }

  static Tree scalar(const JsonValue& value) {
    switch (value.kind()) {
      case JsonKind::null:
        return nullptr;
      case JsonKind::boolean:
        return value.boolean();
      case JsonKind::integer:
        return value.integer();
      case JsonKind::natural:
        return value.natural();
      case JsonKind::real:
        return value.number();
      case JsonKind::text:
        return std::string(value.text());
      case JsonKind::list:
        return Tree::array();
      case JsonKind::object:
        return Tree::object();
    }
    return nullptr;
  }

  static constexpr bool kInFileOrder = requires(typename Tree::object_t & members) {
    members.reserve(std::size_t{});
  };
};

/// Converts `value` to a tree that can be changed and written.
[[nodiscard]] Json json_tree(const JsonValue& value);

}  // namespace sluice::sim
