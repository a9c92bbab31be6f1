// A libcudnn.so.9 without kernels that writes down, to the file RECORD_LOG, the operation graphs it
// is asked for, the heuristics and plans in their order, and the tensors bound on execution. Each
// heuristic proposes three configurations: engines 0 to 2, and 100 to 102 as fallbacks.
//   RECORD_FIRST=n    plans of engines below n are refused
//   RECORD_FAILS=m    heuristic mode m fails
//   RECORD_VERSION=v  the library's version, 91900 by default
#include <cudnn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace {

struct Attribute {
  int type;
  std::int64_t count;
  std::vector<char> bytes;
};

struct Descriptor {
  cudnnBackendDescriptorType_t type;
  std::map<int, Attribute> attributes = {};
  int engine = 0;
};

long setting(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atol(text);
}

std::size_t bytes_of(int type) {
  switch (type) {
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
      return 8;
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR:
      return 1;
    default:
      return 4;
  }
}

template <class T>
T value(const Attribute& attribute, std::int64_t i = 0) {
  T result;
  std::memcpy(&result, attribute.bytes.data() + i * static_cast<std::int64_t>(sizeof(T)),
              sizeof(T));
  return result;
}

std::mutex lock;
long calls[5];  // Creations, destructions, attributes set, finalizations, attributes read.

FILE* log_file() {
  static FILE* file =
      std::getenv("RECORD_LOG") ? std::fopen(std::getenv("RECORD_LOG"), "w") : nullptr;
  return file;
}

/// Names of tensors inside the kernel by id, in the order in which operations use them.
std::map<std::int64_t, std::string> inner;

std::string show(const Descriptor& of) {
  const bool within = of.attributes.contains(CUDNN_ATTR_TENSOR_IS_VIRTUAL);
  std::string text = "{" + std::to_string(of.type);
  for (const auto& [name, attribute] : of.attributes) {
    text += " " + std::to_string(name) + "=";
    for (std::int64_t i = 0; i < attribute.count; ++i) {
      if (i > 0) text += ",";
      if (attribute.type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
        text += show(*value<Descriptor*>(attribute, i));
      } else if (name == CUDNN_ATTR_TENSOR_UNIQUE_ID && within) {
        text +=
            inner.try_emplace(value<std::int64_t>(attribute), "v" + std::to_string(inner.size()))
                .first->second;
      } else if (attribute.type == CUDNN_TYPE_INT64) {
        text += std::to_string(value<std::int64_t>(attribute, i));
      } else if (attribute.type == CUDNN_TYPE_BOOLEAN) {
        text += value<char>(attribute, i) ? "yes" : "no";
      } else if (attribute.type == CUDNN_TYPE_FLOAT) {
        text += std::to_string(value<float>(attribute, i));
      } else {
        text += std::to_string(value<int>(attribute, i));
      }
    }
  }
  return text + "}";
}

void record_graph(const Descriptor& graph) {
  inner.clear();
  std::fprintf(log_file(), "graph\n");
  const Attribute& operations = graph.attributes.at(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  for (std::int64_t i = 0; i < operations.count; ++i) {
    std::fprintf(log_file(), "  %s\n", show(*value<Descriptor*>(operations, i)).c_str());
  }
}

}  // namespace

extern "C" {

std::size_t cudnnGetVersion() { return static_cast<std::size_t>(setting("RECORD_VERSION", 91900)); }
const char* cudnnGetErrorString(cudnnStatus_t) { return "refused"; }
void cudnnGetLastErrorString(char* text, std::size_t size) { std::strncpy(text, "recorder", size); }
cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  *handle = static_cast<cudnnHandle_t>(std::malloc(8));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  std::free(handle);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t) { return CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnGetStream(cudnnHandle_t, cudaStream_t* stream) {
  *stream = nullptr;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* out) {
  const std::lock_guard guard(lock);
  ++calls[0];
  *out = new Descriptor{type};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  const std::lock_guard guard(lock);
  ++calls[1];
  delete static_cast<Descriptor*>(descriptor);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, std::int64_t count,
                                       const void* values) {
  const std::lock_guard guard(lock);
  ++calls[2];
  if (type == CUDNN_TYPE_HANDLE) return CUDNN_STATUS_SUCCESS;
  const auto* first = static_cast<const char*>(values);
  const auto bytes = static_cast<std::int64_t>(bytes_of(type)) * count;
  Attribute attribute{type, count, {first, first + bytes}};
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    // A copy, as the library's: the caller may destroy its own. Never freed.
    for (std::int64_t i = 0; i < count; ++i) {
      auto* copy = new Descriptor(*value<Descriptor*>(attribute, i));
      std::memcpy(attribute.bytes.data() + 8 * i, &copy, 8);
    }
  }
  static_cast<Descriptor*>(descriptor)->attributes[name] = attribute;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  const std::lock_guard guard(lock);
  ++calls[3];
  auto& of = *static_cast<Descriptor*>(descriptor);
  if (of.type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR && log_file() != nullptr) record_graph(of);
  if (of.type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR) {
    const int mode = value<int>(of.attributes.at(CUDNN_ATTR_ENGINEHEUR_MODE));
    of.engine = mode == CUDNN_HEUR_MODE_FALLBACK ? 100 : 0;
    if (log_file() != nullptr) std::fprintf(log_file(), "heuristic %d\n", mode);
    if (mode == setting("RECORD_FAILS", -1)) return CUDNN_STATUS_NOT_SUPPORTED;
  }
  if (of.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
    of.engine =
        value<Descriptor*>(of.attributes.at(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG))->engine;
    if (log_file() != nullptr) std::fprintf(log_file(), "plan of engine %d\n", of.engine);
    if (of.engine < setting("RECORD_FIRST", 0)) return CUDNN_STATUS_NOT_SUPPORTED;
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, std::int64_t most,
                                       std::int64_t* count_or_null, void* out) {
  const std::lock_guard guard(lock);
  ++calls[4];
  const auto& of = *static_cast<const Descriptor*>(descriptor);
  std::int64_t ignored = 0;
  std::int64_t& count = count_or_null == nullptr ? ignored : *count_or_null;
  count = 1;
  const auto descriptors = [&](std::int64_t all, int first) {
    count = all;
    for (int i = 0; out != nullptr && i < std::min(all, most); ++i) {
      static_cast<Descriptor**>(out)[i]->engine = first + i;
    }
  };
  switch (static_cast<int>(name)) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS:
      descriptors(3, of.engine);
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINECFG_ENGINE:
      descriptors(1, of.engine);
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINECFG_KNOB_CHOICES:
      descriptors(of.engine % 3, 10);
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE:
      count = 0;
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE:
      if (out != nullptr) *static_cast<int*>(out) = CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION;
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE:
      *static_cast<int*>(out) = of.engine;
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
      *static_cast<std::int64_t*>(out) = of.engine;
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE:
      *static_cast<std::int64_t*>(out) = of.engine * 7;
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED:
      *static_cast<int*>(out) = 1000;
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE:
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
      *static_cast<std::int64_t*>(out) = 4096;
      return CUDNN_STATUS_SUCCESS;
    default:
      std::fprintf(stderr, "attribute %d is read\n", name);
      return CUDNN_STATUS_NOT_SUPPORTED;
  }
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t,
                                  cudnnBackendDescriptor_t pack) {
  const std::lock_guard guard(lock);
  if (log_file() == nullptr) return CUDNN_STATUS_SUCCESS;
  const auto& attributes = static_cast<Descriptor*>(pack)->attributes;
  const Attribute& ids = attributes.at(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const Attribute& places = attributes.at(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  std::map<std::int64_t, std::int64_t> bound;
  for (std::int64_t i = 0; i < ids.count; ++i) {
    bound[value<std::int64_t>(ids, i)] =
        value<std::int64_t>(places, i) -
        value<std::int64_t>(attributes.at(CUDNN_ATTR_VARIANT_PACK_WORKSPACE));
  }
  std::fprintf(log_file(), "execute");
  for (const auto& [id, place] : bound) {
    std::fprintf(log_file(), " %lld@%lld", static_cast<long long>(id),
                 static_cast<long long>(place));
  }
  std::fprintf(log_file(), "\n");
  return CUDNN_STATUS_SUCCESS;
}

/// Prints how often each call was made since the last time.
void record_calls(const char* what) {
  std::fprintf(stderr, "%s: %ld created, %ld destroyed, %ld set, %ld finalized, %ld read\n", what,
               calls[0], calls[1], calls[2], calls[3], calls[4]);
  for (long& count : calls) count = 0;
}
}
