// Times one block's forward and backward and the head of a model shape on a CUDA device, and the
// throughput they alone would allow: layers x (forward + backward) + loss, nothing streamed and
// nothing updated.
#include <cstdio>
#include <cstring>
#include <functional>

#include "engine/cuda/layers/templates.hpp"
#include "engine/cuda/runtime/check.hpp"
#include "engine/state/init.hpp"

namespace {

using namespace sluice;
using namespace sluice::engine;

planner::ModelShape qwen_7b() {
  planner::ModelShape shape;
  shape.name = "qwen2.5-7b";
  shape.family = planner::Family::qwen2;
  shape.layers = 28;
  shape.hidden = 3584;
  shape.intermediate = 18944;
  shape.heads = 28;
  shape.kv_heads = 4;
  shape.head_dim = 128;
  shape.vocab = 152064;
  shape.qkv_bias = true;
  shape.rotary.front().theta = 1e6;
  return shape;
}

void* allocate(Bytes bytes) {
  void* memory = nullptr;
  check_cuda(cudaMalloc(&memory, static_cast<std::size_t>(bytes.count())),
             "memory of the benchmark");
  return memory;
}

void* random_halves(std::int64_t count, float spread) {
  std::vector<std::uint16_t> values(static_cast<std::size_t>(count));
  std::uint32_t state = 12345;
  for (auto& value : values) {
    state = state * 1664525U + 1013904223U;
    const float uniform = (static_cast<float>(state >> 8) / 8388608.0F - 1.0F) * spread;
    std::uint32_t bits;
    std::memcpy(&bits, &uniform, sizeof bits);
    value = static_cast<std::uint16_t>(bits >> 16);
  }
  void* memory = allocate(Bytes(2 * count));
  check_cuda(cudaMemcpy(memory, values.data(), values.size() * 2, cudaMemcpyHostToDevice), "copy");
  return memory;
}

/// Mean milliseconds over repeats of `work`, after a warm-up.
double milliseconds(cudaStream_t stream, const std::function<void()>& work) {
  for (int i = 0; i < 5; ++i) work();
  cudaEvent_t begin, end;
  check_cuda(cudaEventCreate(&begin), "event");
  check_cuda(cudaEventCreate(&end), "event");
  constexpr int kRepeats = 30;
  check_cuda(cudaEventRecord(begin, stream), "event");
  for (int i = 0; i < kRepeats; ++i) work();
  check_cuda(cudaEventRecord(end, stream), "event");
  check_cuda(cudaEventSynchronize(end), "work");
  float elapsed = 0;
  check_cuda(cudaEventElapsedTime(&elapsed, begin, end), "time");
  return static_cast<double>(elapsed) / kRepeats;
}

void measure(std::int64_t micro_batch) {
  planner::Job job;
  job.model = qwen_7b();
  job.seq_len = 1024;
  job.batch_size = job.micro_batch = micro_batch;
  job.loss_chunk = 2048;
  CudaTemplates templates(job);
  const planner::BlockRecord layout = planner::block_record(job);
  const std::int64_t tokens = job.micro_tokens(), elements = tokens * job.model.hidden;
  const std::int64_t block = planner::unit_tensors(job.model, 1).padded_size;
  const std::int64_t head = planner::unit_tensors(job.model, 29).padded_size;
  const planner::CudaWorkspace space = planner::cuda_workspace(job);
  cudaStream_t stream;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
  auto* weights = static_cast<std::uint16_t*>(random_halves(block, 0.03F));
  auto* head_weights = static_cast<std::uint16_t*>(random_halves(head, 0.03F));
  auto* record = static_cast<std::byte*>(allocate(layout.all_bytes));
  auto* x = static_cast<std::byte*>(random_halves(elements, 1));
  auto* next = static_cast<std::byte*>(allocate(Bytes(2 * elements)));
  auto* d_stream = static_cast<std::byte*>(random_halves(elements, 1e-3F));
  auto* gradient = static_cast<float*>(allocate(Bytes(4 * head)));
  auto* workspace = static_cast<std::byte*>(allocate(space.total));
  auto* targets = static_cast<std::int32_t*>(allocate(Bytes(4 * tokens)));
  auto* sum = static_cast<double*>(allocate(Bytes(8)));
  check_cuda(cudaMemset(targets, 0, static_cast<std::size_t>(4 * tokens)), "targets");
  const CudaRecord view{.input = x, .record = record, .full = nullptr, .kept = layout.all_bytes};
  const double forward = milliseconds(
      stream, [&] { templates.block_forward(stream, weights, view, next, workspace); });
  const double backward = milliseconds(stream, [&] {
    templates.block_backward(stream, weights, gradient, cuda::Into::accumulate, view, d_stream,
                             workspace);
  });
  const std::int64_t lm_head = templates.ends().lm_head.offset;
  const double loss = milliseconds(stream, [&] {
    templates.loss(stream,
                   {.head = head_weights,
                    .lm_head = head_weights + lm_head,
                    .input = x,
                    .targets = targets,
                    .scale = 1e-5F,
                    .gradient = gradient,
                    .lm_head_gradient = gradient + lm_head,
                    .into = cuda::Into::accumulate,
                    .stream_gradient = next,
                    .loss_sum = sum},
                   workspace);
  });
  const double step = static_cast<double>(job.model.layers) * (forward + backward) + loss;
  std::printf(
      "%3ld x 1024: block forward %7.3f ms, backward %7.3f ms, head %7.3f ms: %7.0f tokens/s; "
      "workspace %5.0f MiB\n",
      micro_batch, forward, backward, loss, 1e3 * static_cast<double>(tokens) / step,
      static_cast<double>(space.total.count()) / 1048576);
  for (void* memory :
       {static_cast<void*>(weights), static_cast<void*>(head_weights), static_cast<void*>(record),
        static_cast<void*>(x), static_cast<void*>(next), static_cast<void*>(d_stream),
        static_cast<void*>(gradient), static_cast<void*>(workspace), static_cast<void*>(targets),
        static_cast<void*>(sum)}) {
    cudaFree(memory);
  }
  cudaStreamDestroy(stream);
}

}  // namespace

int main() {
  try {
    for (const std::int64_t micro_batch : {4, 8, 16, 32}) measure(micro_batch);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 4;
  }
}
