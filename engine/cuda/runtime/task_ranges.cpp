#include "engine/execution/task_ranges.hpp"

#include <nvtx3/nvToolsExt.h>

#include <vector>

#include "engine/execution/program.hpp"

namespace sluice::engine {

struct TaskRanges::Names {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("sluice");
  std::vector<nvtxStringHandle_t> strings;
  ~Names() { nvtxDomainDestroy(domain); }
};

TaskRanges::TaskRanges(const Program& program) : names_(std::make_unique<Names>()) {
  for (std::uint32_t task = 0; task < program.size(); ++task) {
    names_->strings.push_back(
        nvtxDomainRegisterStringA(names_->domain, program.name(task).c_str()));
  }
}

TaskRanges::~TaskRanges() = default;

TaskRanges::Scope::Scope(const TaskRanges& ranges, std::uint32_t task) : ranges_(ranges) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = ranges.names_->strings[task];
  nvtxDomainRangePushEx(ranges.names_->domain, &attributes);
}

TaskRanges::Scope::~Scope() { nvtxDomainRangePop(ranges_.names_->domain); }

}  // namespace sluice::engine
