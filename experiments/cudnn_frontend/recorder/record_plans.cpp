// Builds and executes attention's plans of 24 shapes on a recording libcudnn.so.9; prints engines
// and workspaces. With an argument: calls and time of one plan, and plans built by 12 threads.
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include "engine/cuda/attention/attention_bindings.hpp"
#include "engine/cuda/attention/attention_graph.hpp"

namespace {

using namespace sluice::engine;

float memory[64];
void* const kWorkspace = memory + 60;

void execute(const Cudnn& cudnn, const CudnnPlan& plan, const AttentionShape& shape, bool backward,
             GradientOrder order) {
  using T = AttentionTensor;
  const AttentionScalars scalars(shape);
  AttentionBindings bindings;
  const auto add = [&](T name) { bindings.add(name, memory + static_cast<int>(name)); };
  for (const T name : {T::q, T::k, T::v, T::out, T::lse}) add(name);
  if (shape.documents) add(T::starts);
  if (backward) {
    for (const T name : {T::d_out, T::d_q, T::d_k, T::d_v, T::out_sum, T::one}) add(name);
    if (order == GradientOrder::any) add(T::d_q_sum);
  }
  add(T::scale);
  add(T::masked);
  if (shape.window) add(T::window);
  if (shape.queries) {
    add(T::keys);
    add(T::queries);
  }
  plan.execute(cudnn, nullptr, bindings.view(), kWorkspace, "attention");
}

std::vector<AttentionShape> shapes() {
  std::vector<AttentionShape> all;
  for (const int kv_heads : {4, 2, 1}) {
    for (int kind = 0; kind < 8; ++kind) {
      AttentionShape shape{.sequences = 2,
                           .length = 512,
                           .heads = 4,
                           .kv_heads = kv_heads,
                           .head_dim = 64,
                           .qkv_row = (4 + 2 * kv_heads) * 64,
                           .out_row = 256};
      if (kind & 1) shape.window = 100;
      if (kind & 2) shape.documents = true;
      if (kind & 4) {
        shape.queries = 128;
        shape.sequences = 1;
      }
      all.push_back(shape);
    }
  }
  return all;
}

void show(const char* pass, const CudnnPlan& plan) {
  std::printf("%s %s %lld\n", pass, plan.engine().c_str(),
              static_cast<long long>(plan.workspace().count()));
}

void build_all(const Cudnn& cudnn) {
  for (const AttentionShape& shape : shapes()) {
    if (!shape.queries) {
      const CudnnPlan plan = attention_forward_plan(cudnn, shape);
      show("forward", plan);
      execute(cudnn, plan, shape, false, GradientOrder::fixed);
    }
    for (const GradientOrder order : {GradientOrder::fixed, GradientOrder::any}) {
      for (const KeyGradients gradients : {KeyGradients::whole, KeyGradients::part}) {
        for (const KeyRows rows : {KeyRows::apart, KeyRows::packed}) {
          const CudnnPlan plan = attention_backward_plan(cudnn, shape, order, gradients, rows);
          show("backward", plan);
          execute(cudnn, plan, shape, true, order);
        }
      }
    }
  }
}

template <class Body>
void time(const char* what, int repeats, Body body) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < repeats; ++i) body();
  const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - begin;
  std::fprintf(stderr, "%s: %.2f us\n", what, taken.count() / repeats);
}

void measure(const Cudnn& cudnn) {
  const auto count = reinterpret_cast<void (*)(const char*)>(
      dlsym(dlopen("libcudnn.so.9", RTLD_NOW), "record_calls"));
  const AttentionShape shape = shapes().front();
  count("before");
  const CudnnPlan plan = attention_backward_plan(cudnn, shape, GradientOrder::fixed);
  count("a backward plan");
  execute(cudnn, plan, shape, true, GradientOrder::fixed);
  count("an execution");
  time("a backward plan", 500,
       [&] { (void)attention_backward_plan(cudnn, shape, GradientOrder::fixed).workspace(); });
  time("an execution", 100000, [&] { execute(cudnn, plan, shape, true, GradientOrder::fixed); });
  std::atomic<int> built{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 12; ++t) {
    threads.emplace_back([&] {
      const Cudnn own;
      for (const AttentionShape& each : shapes()) {
        built += attention_backward_plan(own, each, GradientOrder::fixed).workspace().count() > 0;
      }
    });
  }
  threads.clear();
  std::fprintf(stderr, "12 threads built %d plans\n", built.load());
}

}  // namespace

int main(int count, char**) {
  const Cudnn cudnn;
  if (count > 1) {
    measure(cudnn);
  } else {
    build_all(cudnn);
  }
}
