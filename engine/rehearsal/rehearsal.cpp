#include "engine/rehearsal/rehearsal.hpp"

#include <algorithm>
#include <array>
#include <thread>
#include <vector>

#include "engine/training/rank_threads.hpp"
#include "engine/training/shared_tokens.hpp"
#include "planner/effort/parallel_for.hpp"
#include "sim/error.hpp"

namespace sluice::engine {

/// A tensor that stays on the device between steps: 16-bit high halves of weights, or an fp32
/// moment of AdamW (m or v).
struct ResidentTensor {
  std::byte* data;
  Bytes bytes;
  bool moment;
};

namespace {

constexpr std::int64_t kPieceBytes = std::int64_t{16} << 20;
/// Bytes examined at a time, on all cores.
constexpr std::int64_t kLookedAtBytes = std::int64_t{256} << 20;
/// Bytes examined by one thread.
constexpr std::size_t kCountedBytes = std::size_t{4} << 20;
/// Real gradients leave up to one denormal in this many values of the device's state.
constexpr std::int64_t kDenormalShare = 1000;

std::string counted(std::int64_t count, const char* what, const ValueCensus& of,
                    const char* where) {
  return std::to_string(count) + " of " + std::to_string(of.values) + " values " + where + " are " +
         what;
}

std::span<std::byte> part_of(const planner::HostWindow& window, planner::WindowUse use,
                             std::span<std::byte> host) {
  const planner::WindowPart& part = window.part(use);
  return host.subspan(static_cast<std::size_t>(part.offset.count()),
                      static_cast<std::size_t>(part.bytes.count()));
}

std::unique_ptr<DiskStore> open_disk(const planner::ModelShape& shape,
                                     const planner::StepGraph& graph,
                                     const planner::HostWindow& window, std::span<std::byte> host,
                                     DiskPlace place) {
  if (graph.layout.disk_bytes == Bytes(0)) return nullptr;
  place.use = DiskUse::rehearsal;
  const std::array buffers = {part_of(window, planner::WindowUse::from_disk, host),
                              part_of(window, planner::WindowUse::to_disk, host)};
  return std::make_unique<DiskStore>(shape, graph, buffers, place);
}

/// Fills weights with small normal numbers; m and v start from zero, as in training. Returns what
/// stays on the device.
std::vector<ResidentTensor> fill_device(Device& device, const planner::StepGraph& graph,
                                        bool fp32_compute) {
  const std::span<std::byte> arena = device.arena(planner::Arena::device);
  std::vector<std::byte> piece(kPieceBytes);
  fill_small(piece, 0);
  std::vector<ResidentTensor> resident;
  for (const planner::Placement& placement : graph.layout.placements) {
    const planner::StepTensor& tensor = graph.tensors[static_cast<std::size_t>(placement.tensor)];
    if (tensor.arena != planner::Arena::device || !tensor.persistent) continue;
    std::byte* const data = arena.data() + placement.offset.count();
    const bool moment = tensor.part == "state";
    // High halves may be followed by low ones, which may be any bits; of several ranks' weights low
    // halves are apart.
    const bool low = tensor.name.starts_with("low/");
    const bool split = !moment && (fp32_compute || tensor.name.starts_with("master/"));
    if (!low) {
      resident.push_back({data, split ? Bytes(tensor.bytes.count() / 2) : tensor.bytes, moment});
    }
    if (moment) {
      device.clear(data, static_cast<std::size_t>(tensor.bytes.count()));
      continue;
    }
    for (std::int64_t at = 0; at < tensor.bytes.count(); at += kPieceBytes) {
      const std::int64_t bytes = std::min(kPieceBytes, tensor.bytes.count() - at);
      device.write(std::span(piece).first(static_cast<std::size_t>(bytes)), data + at);
    }
  }
  return resident;
}

Device& joined(Device& device, const RankLinks& links) {
  device.join(links);
  return device;
}

}  // namespace

std::optional<std::string> RehearsalValues::fault() const {
  struct Part {
    const ValueCensus& found;
    const char* where;
  };
  for (const Part& part : {Part{window, "of the window"}, Part{gradients, "of stored gradients"},
                           Part{device, "of the device's state"}}) {
    if (part.found.nan > 0) return counted(part.found.nan, "not numbers", part.found, part.where);
    if (part.found.infinite > 0) {
      return counted(part.found.infinite, "infinite", part.found, part.where);
    }
    const bool on_device = &part.found == &device;
    const std::int64_t allowed = on_device ? part.found.values / kDenormalShare : 0;
    if (part.found.denormal > allowed) {
      return counted(part.found.denormal, "denormal", part.found, part.where);
    }
  }
  if (window.zero > 0) return counted(window.zero, "zero", window, "of the window");
  return std::nullopt;
}

/// One rank of a rehearsal.
struct Rehearsal::Rank {
  Rank(const planner::Job& job, const planner::StepGraph& graph, const planner::HostWindow& window,
       std::unique_ptr<Device> owned, TokenSource& tokens,
       const StepRunner::LearningRate& learning_rate, Observer* observer, const DiskPlace& place,
       const RankLinks& given)
      : links(given),
        device(std::move(owned)),
        program(graph, joined(*device, links), &window, links.world().rank),
        disk(open_disk(job.model, graph, window, device->arena(planner::Arena::host), place)),
        queues(device->open_queues(program)),
        runner(program, *device, job, tokens, learning_rate,
               queues ? queues->constants() : std::span<AdamWStep>{}, disk.get(), links),
        executor(program, runner, observer, queues.get(),
                 graph.ranks > 1 ? RunAhead::one_step : RunAhead::freely) {
    runner.on_stop([this](std::int64_t last) { executor.stop_after(last); });
    const std::span<std::byte> host = device->arena(planner::Arena::host);
    fill_window(window, job, host);
    if (disk) disk->fill(part_of(window, planner::WindowUse::to_disk, host));
    resident = fill_device(*device, graph, job.compute == planner::ComputeType::fp32);
  }

  RankLinks links;
  std::unique_ptr<Device> device;
  Program program;
  std::unique_ptr<DiskStore> disk;
  std::unique_ptr<DeviceQueues> queues;
  StepRunner runner;
  std::vector<ResidentTensor> resident;  ///< Tensors that stay on the device between steps.
  /// Declared last, because the executor's lanes must end before the members that they use are
  /// destroyed.
  Executor executor;
};

Rehearsal::Rehearsal(const planner::Job& job, const planner::StepGraph& graph,
                     const planner::HostWindow& window,
                     std::vector<std::unique_ptr<Device>> devices, TokenSource& tokens,
                     const StepRunner::LearningRate& learning_rate, Observer* observer,
                     const DiskPlace& place)
    : window_(window), tokens_(std::make_unique<SharedTokens>(tokens)) {
  check(std::ssize(devices) == graph.ranks, "every rank has a device");
  if (graph.layout.shared_bytes > Bytes(0)) {
    throw BadRequest(
        "plan: gather: host cannot be rehearsed in this version, for a rehearsal has no memory "
        "that ranks share: set plan.gather=fabric");
  }
  if (graph.ranks > 1) threads_ = std::make_unique<ThreadRanks>(static_cast<int>(graph.ranks));
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const int rank = static_cast<int>(i);
    const RankLinks links =
        threads_ ? RankLinks{&threads_->control(rank), &threads_->fabric(rank)} : RankLinks{};
    ranks_.push_back(std::make_unique<Rank>(job, graph, window_, std::move(devices[i]), *tokens_,
                                            learning_rate, i == 0 ? observer : nullptr, place,
                                            links));
  }
}

Rehearsal::~Rehearsal() = default;

std::vector<RankLinks> Rehearsal::links() const {
  std::vector<RankLinks> links;
  for (const auto& each : ranks_) links.push_back(each->links);
  return links;
}

std::int64_t Rehearsal::run_to(std::int64_t last, const StepDone& step_done) {
  std::vector<std::int64_t> ran(ranks_.size());
  run_on_ranks(links(), [&](std::size_t i) {
    Rank& rank = *ranks_[i];
    rank.runner.expect(1, last);
    std::function<void(std::int64_t)> tell;
    if (i == 0) tell = [&](std::int64_t step) { step_done(step, rank.runner.result(step)); };
    ran[i] = rank.executor.run(1, last, tell);
  });
  return ran.front();
}

void Rehearsal::request_stop() {
  if (threads_) return ranks_.front()->runner.want_stop();
  ranks_.front()->executor.request_stop();
}

const DiskStore* Rehearsal::disk() const { return ranks_.front()->disk.get(); }

Bytes Rehearsal::touched(planner::Arena arena) const {
  return ranks_.front()->program.touched(arena);
}

ValueCensus Rehearsal::census_of(std::span<const std::byte> values, bool moments) {
  std::vector<ValueCensus> parts((values.size() + kCountedBytes - 1) / kCountedBytes);
  planner::parallel_for(parts.size(), std::thread::hardware_concurrency(), [&](std::size_t i) {
    const std::size_t begin = i * kCountedBytes;
    const auto part = values.subspan(begin, std::min(kCountedBytes, values.size() - begin));
    parts[i] = moments ? census_of_floats(part) : census_of_halves(part);
  });
  ValueCensus sum;
  for (const ValueCensus& part : parts) sum += part;
  return sum;
}

RehearsalValues Rehearsal::values() {
  RehearsalValues found;
  for (const auto& rank : ranks_) count(*rank, found);
  return found;
}

void Rehearsal::count(Rank& rank, RehearsalValues& found) const {
  const std::span<const std::byte> host = rank.device->arena(planner::Arena::host);
  found.window += census_of_window(window_, host);
  found.gradients += census_of_gradients(window_, host);
  std::int64_t largest = 0;
  for (const ResidentTensor& each : rank.resident) largest = std::max(largest, each.bytes.count());
  std::vector<std::byte> piece(static_cast<std::size_t>(std::min(kLookedAtBytes, largest)));
  for (const ResidentTensor& each : rank.resident) {
    for (std::int64_t at = 0; at < each.bytes.count(); at += kLookedAtBytes) {
      const auto bytes =
          static_cast<std::size_t>(std::min(kLookedAtBytes, each.bytes.count() - at));
      const std::span<std::byte> read = std::span(piece).first(bytes);
      rank.device->read(each.data + at, read);
      found.device += census_of(read, each.moment);
    }
  }
}

}  // namespace sluice::engine
