#include "sim/graph_file.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "sim/error.hpp"
#include "sim/json_object.hpp"
#include "sim/name_index.hpp"
#include "sim/nearest_name.hpp"
#include "sim/simulate.hpp"

namespace sluice::sim {
namespace {

/// Index of ids by name; the names are views of the document.
template <class Id>
using Names = std::unordered_map<std::string_view, Id>;

/// Throws BadRequest `WHERE FIELD: unknown NOUN ...`.
[[noreturn]] void refuse_unknown_name(std::vector<std::string> known, std::string_view name,
                                      const char* noun, const std::string& where) {
  std::sort(known.begin(), known.end());
  throw BadRequest(where + ": unknown " + noun + " \"" + std::string(name) + "\"" +
                   (known.empty() ? "; the graph has none" : did_you_mean(name, known)));
}

template <class Id>
Id look_up(const Names<Id>& names, std::string_view name, const char* noun,
           const std::string& where, const char* field = "") {
  if (const auto found = names.find(name); found != names.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& entry : names) known.emplace_back(entry.first);
  refuse_unknown_name(std::move(known), name, noun, where + field);
}

TaskId look_up(const NameIndex& tasks, std::string_view name, const std::string& where,
               const char* field) {
  if (const auto found = tasks.find(name)) return TaskId(*found);
  refuse_unknown_name({tasks.names().begin(), tasks.names().end()}, name, "task", where + field);
}

class GraphReader {
 public:
  GraphReader(const JsonDocument& json, std::string where)
      : file_(json, where), where_(std::move(where)) {}

  TaskGraph read() {
    file_.refuse_unknown(
        {"lanes", "links", "pools", "interference", "boost", "tasks", "period", "period_steps"});
    read_resources();
    if (file_.has("interference")) read_interference();
    if (file_.has("boost")) read_boost();
    name_tasks();
    for (const JsonValue task : file_.value("tasks")) {
      const std::string_view id = task.find("id")->text();
      read_task({task, task_name(id)}, id);
    }
    if (file_.has("period")) read_period();
    if (file_.has("period_steps") && !graph_.period()) {
      file_.fail("period_steps", "needs a period: name its two tasks as period, [first, last]");
    }
    return std::move(graph_);
  }

 private:
  void read_resources() {
    if (file_.has("lanes")) {
      for (const std::string_view lane : file_.text_views("lanes")) {
        const std::string name(lane);
        const bool fresh = lanes_.emplace(lane, graph_.add_lane(name)).second;
        if (!fresh) file_.fail("lanes", "lane \"" + name + "\" is given twice; rename one");
      }
    }
    if (const auto links = file_.find_object("links")) {
      for (const JsonValue link : links->json()) {
        const Rate capacity(links->number_of(link));
        links_.emplace(link.key(), graph_.add_link(std::string(link.key()), capacity));
      }
    }
    if (const auto pools = file_.find_object("pools")) {
      for (const JsonValue pool : pools->json()) {
        const Amount capacity(pools->number_of(pool));
        pools_.emplace(pool.key(), graph_.add_pool(std::string(pool.key()), capacity));
      }
    }
  }

  void read_interference() {
    for (const JsonObject& entry : file_.objects("interference")) {
      entry.refuse_unknown({"on", "from", "factor"});
      graph_.add_interference(
          {look_up(lanes_, entry.text_view("on"), "lane", entry.where(), ": on"),
           look_up(lanes_, entry.text_view("from"), "lane", entry.where(), ": from"),
           entry.number("factor")});
    }
  }

  void read_boost() {
    for (const JsonObject& entry : file_.objects("boost")) {
      entry.refuse_unknown({"lane", "gain", "most", "window", "lasting_gain", "lasting_window"});
      Boost boost{look_up(lanes_, entry.text_view("lane"), "lane", entry.where(), ": lane"),
                  entry.number("gain"), entry.number("most"), Seconds(entry.number("window"))};
      if (const auto gain = entry.find_number("lasting_gain")) boost.lasting_gain = *gain;
      if (const auto window = entry.find_number("lasting_window")) {
        boost.lasting_window = Seconds(*window);
      }
      graph_.add_boost(boost);
    }
  }

  [[nodiscard]] std::string task_name(std::string_view id) const {
    return where_ + ": task \"" + std::string(id) + "\"";
  }

  /// Registers the ids of all tasks first, because `after` may name tasks that come later.
  void name_tasks() {
    const JsonObjects tasks = file_.objects("tasks");
    tasks_ = NameIndex(tasks.size());
    graph_.reserve_tasks(tasks.size());
    for (const JsonObject& task : tasks) {
      const std::string_view id = task.text_view("id");
      if (!tasks_.add(id)) {
        throw BadRequest(task_name(id) + ": this id is given twice; rename one");
      }
    }
  }

  void read_task(const JsonObject& json, std::string_view id) {
    json.refuse_unknown({"id", "lane", "after", "latency", "seconds", "amount", "cap", "weight",
                         "uses", "acquire", "release", "boosts"});
    Task task;
    task.id = id;
    task.lane = look_up(lanes_, json.text_view("lane"), "lane", json.where());
    if (json.has("after")) {
      const std::vector<std::string_view> after = json.text_views("after");
      task.after.reserve(after.size());
      for (const std::string_view before : after) {
        task.after.push_back(look_up(tasks_, before, json.where(), ": after"));
      }
    }
    task.latency = Seconds(json.find_number("latency").value_or(0));
    task.work = read_work(json);
    task.acquire = read_holds(json, "acquire");
    task.release = read_holds(json, "release");
    task.boosts = read_boosts(json);
    graph_.add_task(std::move(task));
  }

  /// Share in `boosts`: a number, or true for all of it.
  static double read_boosts(const JsonObject& json) {
    if (!json.has("boosts")) return 0;
    if (!json.value("boosts").is_boolean()) return *json.find_number("boosts");
    return *json.find_boolean("boosts") ? 1 : 0;
  }

  std::variant<Seconds, Flow> read_work(const JsonObject& json) {
    if (json.has("seconds") == json.has("amount")) {
      throw BadRequest(json.where() + (json.has("amount")
                                           ? ": has both seconds and amount; keep one"
                                           : ": needs seconds or amount; add one"));
    }
    decltype(Flow::uses) uses;
    if (const auto given = json.find_object("uses")) {
      uses.reserve(given->json().size());
      for (const JsonValue use : given->json()) {
        const LinkId link = look_up(links_, use.key(), "link", json.where(), ": uses");
        uses.push_back({link, given->number_of(use)});
      }
    }
    const std::optional<double> cap = json.find_number("cap");
    const double weight = json.find_number("weight").value_or(1);
    if (json.has("seconds")) {
      if (cap || !uses.empty()) {
        json.fail(cap ? "cap" : "uses",
                  "a task with seconds has neither cap nor uses; give it an amount instead, or "
                  "drop it");
      }
      return Seconds(json.number("seconds"));
    }
    return Flow{.amount = Amount(json.number("amount")),
                .cap = cap ? std::optional(Rate(*cap)) : std::nullopt,
                .weight = weight,
                .uses = std::move(uses)};
  }

  decltype(Task::acquire) read_holds(const JsonObject& json, std::string_view key) {
    decltype(Task::acquire) holds;
    const auto given = json.find_object(key);
    if (!given) return holds;
    holds.reserve(given->json().size());
    for (const JsonValue hold : given->json()) {
      const PoolId pool = look_up(pools_, hold.key(), "pool", given->where());
      holds.push_back({pool, Amount(given->number_of(hold))});
    }
    return holds;
  }

  void read_period() {
    const std::vector<std::string_view> ids = file_.text_views("period");
    if (ids.size() != 2) {
      file_.fail("period", "must name two tasks, [first, last], not " + std::to_string(ids.size()));
    }
    const std::int64_t steps = file_.find_integer("period_steps").value_or(1);
    if (steps < 1) file_.fail("period_steps", std::to_string(steps) + " must be at least 1");
    graph_.set_period({look_up(tasks_, ids[0], where_, ": period"),
                       look_up(tasks_, ids[1], where_, ": period"), steps});
  }

  JsonObject file_;
  std::string where_;
  TaskGraph graph_;
  Names<LaneId> lanes_;
  Names<LinkId> links_;
  Names<PoolId> pools_;
  NameIndex tasks_{0};
};

}  // namespace

TaskGraph read_graph(std::string_view json, std::string_view where) {
  TaskGraph graph = GraphReader(parse_json(json, where), std::string(where)).read();
  try {
    validate(graph);
  } catch (const BadRequest& refusal) {
    throw BadRequest(std::string(where) + ": " + refusal.what());
  }
  return graph;
}

}  // namespace sluice::sim
