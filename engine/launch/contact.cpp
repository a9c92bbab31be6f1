#include "engine/launch/contact.hpp"

#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "engine/launch/agent_store.hpp"
#include "planner/files/whole_file.hpp"

namespace sluice::engine {
namespace {

constexpr char kMark[] = "sluice-contact-1";

class AtFirstRank : public ContactPlace {
 public:
  explicit AtFirstRank(FirstRankAddress address) : address_(std::move(address)) {}
  void leave(const Contact& /*contact*/) override {}
  [[nodiscard]] std::optional<Contact> find() override {
    return Contact{.token = "", .port = address_.port, .hosts = {address_.host}};
  }
  [[nodiscard]] int port() const override { return address_.port; }

 private:
  FirstRankAddress address_;
};

class InStore : public ContactPlace {
 public:
  InStore(const AgentStore& store, std::chrono::milliseconds patience) : store_(store, patience) {}
  void leave(const Contact& contact) override { store_.set(kKey, contact_text(contact)); }
  [[nodiscard]] std::optional<Contact> find() override {
    const auto text = store_.find(kKey);
    return text ? read_contact(*text) : std::nullopt;
  }

 private:
  static constexpr char kKey[] = "sluice/first-rank";
  AgentStoreClient store_;
};

class InFolder : public ContactPlace {
 public:
  explicit InFolder(const std::filesystem::path& folder) : file_(folder / "first-rank") {}
  ~InFolder() override {
    // A later start may have left its own.
    if (left_.empty() || text() != left_) return;
    std::error_code ignored;
    std::filesystem::remove(file_, ignored);
    std::filesystem::remove(file_.parent_path(), ignored);
  }
  void leave(const Contact& contact) override {
    left_ = contact_text(contact);
    planner::write_whole_file(file_, left_);
  }
  [[nodiscard]] std::optional<Contact> find() override { return read_contact(text()); }

 private:
  [[nodiscard]] std::string text() const {
    std::ifstream in(file_);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::filesystem::path file_;
  std::string left_;
};

}  // namespace

std::string contact_text(const Contact& contact) {
  std::string text = std::string(kMark) + ' ' + contact.token + ' ' + std::to_string(contact.port);
  for (const std::string& host : contact.hosts) text += ' ' + host;
  return text;
}

std::optional<Contact> read_contact(const std::string& text) {
  std::istringstream words(text);
  std::string mark, host;
  Contact contact;
  if (!(words >> mark >> contact.token >> contact.port) || mark != kMark) return std::nullopt;
  while (words >> host) contact.hosts.push_back(host);
  return contact;
}

std::unique_ptr<ContactPlace> contact_place(const MeetingPlace& place,
                                            std::chrono::milliseconds patience) {
  if (const auto* store = std::get_if<AgentStore>(&place)) {
    return std::make_unique<InStore>(*store, patience);
  }
  if (const auto* folder = std::get_if<SharedFolder>(&place)) {
    return std::make_unique<InFolder>(folder->path);
  }
  return std::make_unique<AtFirstRank>(std::get<FirstRankAddress>(place));
}

}  // namespace sluice::engine
