#include "planner/catalogue/machine_kernels.hpp"

#include <memory>

#include "planner/catalogue/catalogue_files.hpp"
#include "planner/catalogue/composed_machine.hpp"
#include "planner/catalogue/gpu_name.hpp"
#include "planner/files/whole_file.hpp"
#include "planner/kernels/file.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

/// Name of the GPU of the machine that a run calls `name`; none for profiles of files and probes.
std::optional<std::string> gpu_of(const std::string& name) {
  if (std::filesystem::exists(name) || name.find('/') != std::string::npos) return std::nullopt;
  if (const Build* build = find_build(name)) return build->parts.gpu;
  if (const auto parts = find_composition(name)) return parts->gpu;
  return std::nullopt;
}

/// Throws BadRequest where the model's device is a GPU that the catalogue knows, and not the
/// machine's.
void require_same_gpu(const KernelModel& model, const MachineProfile& machine,
                      const std::string& file, const std::string& name) {
  const auto refuse = [&](const std::string& own) {
    throw BadRequest("machine.kernels: " + file + " is of " + model.device() + ", and machine " +
                     name + " has " + own +
                     ": give a table of that GPU, or name a machine with this one");
  };
  if (machine.device == DeviceKind::host) refuse("no GPU");
  const GpuPart* const device = gpu_named(model.device());
  if (device == nullptr) return;
  const auto gpu = gpu_of(name);
  if (gpu && *gpu != device->name) refuse("the GPU " + *gpu);
  if (device->architecture != machine.architecture) refuse("a GPU of " + machine.architecture);
}

}  // namespace

std::optional<KernelModel> catalogue_kernels(const std::string& machine) {
  for (const CatalogueFile& file : catalogue_kernels_files()) {
    if (file.name == machine) return kernels_from_json(file.text, "kernels of " + machine);
  }
  return std::nullopt;
}

void set_kernels(MachineProfile& machine, const std::filesystem::path& path,
                 const std::string& name) {
  const std::string file = path.string();
  const std::string fix = "sluice fit kernels TABLE --kind gemm -o " + file + " writes one";
  if (!std::filesystem::is_regular_file(path)) {
    throw BadRequest("machine.kernels: there is no file " + file + ": " + fix);
  }
  const std::string text = read_whole_file(path);
  if (!is_kernels_json(text)) {
    throw BadRequest("machine.kernels: " + file + " is no kernel model: " + fix);
  }
  auto model = std::make_shared<const KernelModel>(kernels_from_json(text, file));
  if (model->family(KernelKind::gemm) == nullptr &&
      model->family(KernelKind::attention) == nullptr) {
    throw BadRequest("machine.kernels: " + file + " has neither products nor attention: " + fix);
  }
  require_same_gpu(*model, machine, file, name);
  machine.kernels = std::move(model);
  if (gpu_of(name)) machine.passes.clear();
}

}  // namespace sluice::planner
