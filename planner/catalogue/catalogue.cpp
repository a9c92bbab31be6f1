#include "planner/catalogue/catalogue.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "planner/catalogue/catalogue_files.hpp"
#include "planner/catalogue/cluster.hpp"
#include "planner/catalogue/composed_machine.hpp"
#include "planner/catalogue/counted_machine.hpp"
#include "planner/catalogue/joined_hosts.hpp"
#include "planner/catalogue/model_source.hpp"
#include "planner/catalogue/replaced_parts.hpp"
#include "planner/catalogue/several_gpus.hpp"
#include "planner/catalogue/store.hpp"
#include "planner/files/whole_file.hpp"
#include "planner/machines/profile_file.hpp"
#include "sim/error.hpp"
#include "sim/json_object.hpp"
#include "sim/nearest_name.hpp"

namespace sluice::planner {
namespace {

std::vector<CatalogueMachine> read_machines() {
  std::vector<CatalogueMachine> machines;
  for (const Build& build : builds()) machines.push_back({build.name});
  return machines;
}

MachineProfile machine_of(const Build& build) {
  if (!build.profile) {
    MachineProfile machine = compose(build.parts);
    machine.name = build.name;
    return machine;
  }
  for (const CatalogueFile& file : catalogue_machines_files()) {
    if (file.name == *build.profile) return profile_from_json(file.text, "machine " + build.name);
  }
  throw std::logic_error("the catalogue has no profile " + *build.profile);
}

template <class Entry>
std::vector<std::string> names_of(const std::vector<Entry>& entries) {
  std::vector<std::string> names;
  names.reserve(entries.size());
  for (const Entry& entry : entries) names.push_back(entry.name);
  return names;
}

MachineProfile machine_of_several(const CountedMachine& many) {
  const auto parts = find_composition(many.machine);
  if (!parts) {
    throw BadRequest("machine: \"" + counted_name(many) + "\": parts of \"" + many.machine +
                     "\" are not known: several GPUs are taken of a catalogue machine (sluice "
                     "machines); a profile file states its own `devices` and `fabric`");
  }
  // A measured build has its node's host; parts that differ are replaced in that.
  const Build* near = find_build(many.machine.substr(0, many.machine.find(" + ")));
  if (near == nullptr || !near->profile) {
    return with_several_gpus(find_machine(many.machine), *parts, many.gpus);
  }
  MachineProfile one = with_node_host(machine_of(*near), near->name);
  if (near->parts != *parts) one = with_parts(one, near->parts, *parts);
  return with_several_gpus(std::move(one), *parts, many.gpus);
}

MachineProfile machine_of_cluster(const Cluster& cluster, std::optional<DeviceKind> backend) {
  MachineProfile one = find_machine(cluster.machine, backend);
  if (cluster.hosts == 1) return one;
  if (cluster.nic.empty()) {
    throw BadRequest("machine: \"" + to_text(cluster) + "\": states no NICs: write for example \"" +
                     to_text(cluster) + " + 8x400GbE\"");
  }
  const std::int64_t gpus = one.devices.value_or(1);
  return profile_of_hosts(std::move(one), cluster.hosts, parse_nic(cluster.nic, "machine"), gpus);
}

bool looks_like_path(const std::string& name) {
  return name.ends_with(".json") || name.starts_with("/") || name.starts_with("./") ||
         name.starts_with("../") || name.starts_with("~");
}

}  // namespace

const std::vector<CatalogueMachine>& catalogue_machines() {
  static const std::vector<CatalogueMachine> machines = read_machines();
  return machines;
}

ModelShape find_model(const std::string& name) {
  const ModelSource source = find_model_source(name);
  ModelShape shape =
      shape_from_config(config_text(source), source.known != nullptr ? "model " + source.known->name
                                                                     : source.config.string());
  shape.name = source.name;
  return shape;
}

MachineProfile find_machine(const std::string& name, std::optional<DeviceKind> backend) {
  if (name == "here") {
    if (auto probed = Store::of_user().newest_profile(backend)) return *probed;
    if (backend == DeviceKind::cuda) {
      throw BadRequest(
          "machine: here has no probe of a GPU: run sluice probe --backend cuda "
          "first, or name a machine (sluice machines)");
    }
    return here_estimate();
  }
  if (const Build* build = find_build(name)) return machine_of(*build);
  if (const auto cluster = cluster_named(name)) return machine_of_cluster(*cluster, backend);
  if (std::filesystem::is_regular_file(name)) return read_profile(name);
  if (const CountedMachine many = counted_machine(name); many.gpus > 1) {
    return machine_of_several(many);
  }
  if (const auto parts = looks_like_path(name) ? std::nullopt : find_composition(name)) {
    const std::string text = to_text(*parts);
    if (const Build* build = find_build(text)) return machine_of(*build);
    const Build* near = find_build(text.substr(0, text.find(" + ")));
    const bool is_measured = near != nullptr && near->profile && near->parts.gpu == parts->gpu;
    return is_measured ? with_parts(machine_of(*near), near->parts, *parts) : compose(*parts);
  }
  if (looks_like_path(name)) {
    throw BadRequest("machine: there is no file " + name +
                     ": give a catalogue name (sluice machines), here, or a profile file");
  }
  if (const std::size_t x = name.find('x'); x > 0 && x < name.find_first_not_of("0123456789x")) {
    throw BadRequest("machine: \"" + name +
                     "\" is unknown: Nx-NAME takes N from 2 to 8 (8x-h200), one GPU is h200, and "
                     "more are several hosts (\"2 hosts of 8x-h200\")");
  }
  std::vector<std::string> names = names_of(catalogue_machines());
  names.emplace_back("here");
  throw BadRequest("machine: \"" + name + "\" is unknown" + sim::did_you_mean(name, names) +
                   " (sluice machines lists the names; a profile file is taken too)");
}

}  // namespace sluice::planner
