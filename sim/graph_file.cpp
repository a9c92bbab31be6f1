#include "sim/graph_file.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "sim/error.hpp"
#include "sim/json_object.hpp"
#include "sim/nearest_name.hpp"
#include "sim/simulate.hpp"

namespace sluice::sim {
namespace {

template <class Id>
using Names = std::unordered_map<std::string, Id>;

template <class Id>
Id look_up(const Names<Id>& names, const std::string& name, const char* noun,
           const std::string& what) {
  if (const auto found = names.find(name); found != names.end()) return found->second;
  std::vector<std::string> known;
  known.reserve(names.size());
  for (const auto& entry : names) known.push_back(entry.first);
  std::sort(known.begin(), known.end());
  throw BadRequest(what + ": unknown " + noun + " \"" + name + "\"" +
                   (known.empty() ? "; the graph has none" : did_you_mean(name, known)));
}

class GraphReader {
 public:
  GraphReader(const Json& json, std::string where) : file_(json, where), where_(std::move(where)) {}

  TaskGraph read() {
    file_.refuse_unknown({"lanes", "links", "pools", "interference", "boost", "tasks", "period"});
    read_resources();
    if (file_.has("interference")) read_interference();
    if (file_.has("boost")) read_boost();
    const std::vector<JsonObject> tasks = named_tasks();
    for (std::size_t i = 0; i < tasks.size(); ++i) read_task(tasks[i]);
    if (file_.has("period")) read_period();
    return std::move(graph_);
  }

 private:
  void read_resources() {
    if (file_.has("lanes")) {
      for (const std::string& name : file_.texts("lanes")) {
        const bool fresh = lanes_.emplace(name, graph_.add_lane(name)).second;
        if (!fresh) file_.fail("lanes", "lane \"" + name + "\" is given twice; rename one");
      }
    }
    if (const auto links = file_.find_object("links")) {
      for (const std::string& name : links->keys()) {
        links_.emplace(name, graph_.add_link(name, Rate(links->number(name))));
      }
    }
    if (const auto pools = file_.find_object("pools")) {
      for (const std::string& name : pools->keys()) {
        pools_.emplace(name, graph_.add_pool(name, Amount(pools->number(name))));
      }
    }
  }

  void read_interference() {
    for (const JsonObject& entry : file_.objects("interference")) {
      entry.refuse_unknown({"on", "from", "factor"});
      graph_.add_interference(
          {look_up(lanes_, entry.text("on"), "lane", entry.where() + ": on"),
           look_up(lanes_, entry.text("from"), "lane", entry.where() + ": from"),
           entry.number("factor")});
    }
  }

  void read_boost() {
    for (const JsonObject& entry : file_.objects("boost")) {
      entry.refuse_unknown({"lane", "gain", "most", "window", "lasting_gain", "lasting_window"});
      Boost boost{look_up(lanes_, entry.text("lane"), "lane", entry.where() + ": lane"),
                  entry.number("gain"), entry.number("most"), Seconds(entry.number("window"))};
      if (const auto gain = entry.find_number("lasting_gain")) boost.lasting_gain = *gain;
      if (const auto window = entry.find_number("lasting_window")) {
        boost.lasting_window = Seconds(*window);
      }
      graph_.add_boost(boost);
    }
  }

  /// Ids first, because `after` may name tasks that come later.
  std::vector<JsonObject> named_tasks() {
    std::vector<JsonObject> tasks;
    const std::vector<JsonObject> listed = file_.objects("tasks");
    tasks.reserve(listed.size());
    for (std::uint32_t i = 0; i < listed.size(); ++i) {
      const std::string id = listed[i].text("id");
      const std::string what = where_ + ": task \"" + id + "\"";
      if (!tasks_.emplace(id, TaskId(i)).second) {
        throw BadRequest(what + ": this id is given twice; rename one");
      }
      tasks.emplace_back(listed[i].json(), what);
    }
    return tasks;
  }

  void read_task(const JsonObject& json) {
    json.refuse_unknown({"id", "lane", "after", "latency", "seconds", "amount", "cap", "weight",
                         "uses", "acquire", "release", "boosts"});
    Task task;
    task.id = json.text("id");
    task.lane = look_up(lanes_, json.text("lane"), "lane", json.where());
    if (json.has("after")) {
      for (const std::string& before : json.texts("after")) {
        task.after.push_back(look_up(tasks_, before, "task", json.where() + ": after"));
      }
    }
    task.latency = Seconds(json.find_number("latency").value_or(0));
    task.work = read_work(json);
    task.acquire = read_holds(json, "acquire");
    task.release = read_holds(json, "release");
    task.boosts = read_boosts(json);
    graph_.add_task(std::move(task));
  }

  /// A share, or whether it has all of it.
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
    std::vector<Use> uses;
    if (const auto given = json.find_object("uses")) {
      for (const std::string& link : given->keys()) {
        uses.push_back(
            {look_up(links_, link, "link", json.where() + ": uses"), given->number(link)});
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

  std::vector<Hold> read_holds(const JsonObject& json, std::string_view key) {
    std::vector<Hold> holds;
    const auto given = json.find_object(key);
    if (!given) return holds;
    for (const std::string& pool : given->keys()) {
      holds.push_back({look_up(pools_, pool, "pool", given->where()), Amount(given->number(pool))});
    }
    return holds;
  }

  void read_period() {
    const std::vector<std::string> ids = file_.texts("period");
    if (ids.size() != 2) {
      file_.fail("period", "must name two tasks, [first, last], not " + std::to_string(ids.size()));
    }
    graph_.set_period({look_up(tasks_, ids[0], "task", where_ + ": period"),
                       look_up(tasks_, ids[1], "task", where_ + ": period")});
  }

  JsonObject file_;
  std::string where_;
  TaskGraph graph_;
  Names<LaneId> lanes_;
  Names<LinkId> links_;
  Names<PoolId> pools_;
  Names<TaskId> tasks_;
};

}  // namespace

TaskGraph read_graph(std::string_view json, std::string_view where) {
  const Json parsed = parse_json(json, where);
  TaskGraph graph = GraphReader(parsed, std::string(where)).read();
  try {
    validate(graph);
  } catch (const BadRequest& refusal) {
    throw BadRequest(std::string(where) + ": " + refusal.what());
  }
  return graph;
}

}  // namespace sluice::sim
