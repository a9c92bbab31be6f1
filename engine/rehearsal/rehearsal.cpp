#include "engine/rehearsal/rehearsal.hpp"

#include <algorithm>
#include <array>
#include <thread>
#include <vector>

#include "planner/effort/parallel_for.hpp"

namespace sluice::engine {
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

Rehearsal::Rehearsal(const planner::Job& job, const planner::StepGraph& graph,
                     const planner::HostWindow& window, std::unique_ptr<Device> device,
                     TokenSource& tokens, StepRunner::LearningRate learning_rate,
                     Observer* observer, const DiskPlace& place)
    : window_(window),
      device_(std::move(device)),
      program_(graph, *device_, &window_),
      disk_(open_disk(job.model, graph, window_, device_->arena(planner::Arena::host), place)),
      queues_(device_->open_queues(program_)),
      runner_(program_, *device_, job, tokens, std::move(learning_rate),
              queues_ ? queues_->constants() : std::span<AdamWStep>{}, disk_.get()),
      executor_(program_, runner_, observer, queues_.get()) {
  const std::span<std::byte> host = device_->arena(planner::Arena::host);
  fill_window(window_, job, host);
  if (disk_) disk_->fill(part_of(window_, planner::WindowUse::to_disk, host));
  fill_device(graph, job.compute == planner::ComputeType::fp32);
}

/// Fills weights with small normal numbers; m and v start from zero, as in training.
void Rehearsal::fill_device(const planner::StepGraph& graph, bool fp32_compute) {
  const std::span<std::byte> arena = device_->arena(planner::Arena::device);
  std::vector<std::byte> piece(kPieceBytes);
  fill_small(piece, 0);
  for (const planner::Placement& placement : graph.layout.placements) {
    const planner::StepTensor& tensor = graph.tensors[static_cast<std::size_t>(placement.tensor)];
    if (tensor.arena != planner::Arena::device || !tensor.persistent) continue;
    std::byte* const data = arena.data() + placement.offset.count();
    const bool moment = tensor.part == "state";
    // High halves may be followed by low ones, which may be any bits.
    const bool split = !moment && (fp32_compute || tensor.name.starts_with("master/"));
    resident_.push_back({data, split ? Bytes(tensor.bytes.count() / 2) : tensor.bytes,
                         moment ? Resident::Kind::moment : Resident::Kind::halves});
    if (moment) {
      device_->clear(data, static_cast<std::size_t>(tensor.bytes.count()));
      continue;
    }
    for (std::int64_t at = 0; at < tensor.bytes.count(); at += kPieceBytes) {
      const std::int64_t bytes = std::min(kPieceBytes, tensor.bytes.count() - at);
      device_->write(std::span(piece).first(static_cast<std::size_t>(bytes)), data + at);
    }
  }
}

std::int64_t Rehearsal::run_to(std::int64_t last, const StepDone& step_done) {
  runner_.expect(1, last);
  return executor_.run(1, last, [&](std::int64_t step) { step_done(step, runner_.result(step)); });
}

ValueCensus Rehearsal::census_of(std::span<const std::byte> values, Resident::Kind kind) {
  std::vector<ValueCensus> parts((values.size() + kCountedBytes - 1) / kCountedBytes);
  planner::parallel_for(parts.size(), std::thread::hardware_concurrency(), [&](std::size_t i) {
    const std::size_t begin = i * kCountedBytes;
    const auto part = values.subspan(begin, std::min(kCountedBytes, values.size() - begin));
    parts[i] = kind == Resident::Kind::moment ? census_of_floats(part) : census_of_halves(part);
  });
  ValueCensus sum;
  for (const ValueCensus& part : parts) sum += part;
  return sum;
}

RehearsalValues Rehearsal::values() {
  const std::span<const std::byte> host = device_->arena(planner::Arena::host);
  RehearsalValues found{.window = census_of_window(window_, host),
                        .gradients = census_of_gradients(window_, host),
                        .device = {}};
  std::int64_t largest = 0;
  for (const Resident& each : resident_) largest = std::max(largest, each.bytes.count());
  std::vector<std::byte> piece(static_cast<std::size_t>(std::min(kLookedAtBytes, largest)));
  for (const Resident& each : resident_) {
    for (std::int64_t at = 0; at < each.bytes.count(); at += kLookedAtBytes) {
      const auto bytes =
          static_cast<std::size_t>(std::min(kLookedAtBytes, each.bytes.count() - at));
      const std::span<std::byte> read = std::span(piece).first(bytes);
      device_->read(each.data + at, read);
      found.device += census_of(read, each.kind);
    }
  }
  return found;
}

}  // namespace sluice::engine
