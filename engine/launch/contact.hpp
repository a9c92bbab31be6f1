// How the other ranks of a start find the first one: its contact, left at the meeting place.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/launch/launch.hpp"

namespace sluice::engine {

/// Where the first rank listens.
struct Contact {
  std::string token;  ///< Known to the ranks of this start alone; empty where the place fixes it.
  int port = 0;
  std::vector<std::string> hosts;  ///< Names or addresses, the likeliest first.
  friend bool operator==(const Contact&, const Contact&) = default;
};
[[nodiscard]] std::string contact_text(const Contact& contact);
/// The contact in `text`; none if it is something else.
[[nodiscard]] std::optional<Contact> read_contact(const std::string& text);

/// Where the contact of a start is left and found.
class ContactPlace {
 public:
  virtual ~ContactPlace() = default;
  ContactPlace() = default;
  ContactPlace(const ContactPlace&) = delete;  // It may hold a connection.
  ContactPlace& operator=(const ContactPlace&) = delete;

  /// Leaves the first rank's contact, in place of that of an earlier start.
  virtual void leave(const Contact& contact) = 0;
  /// The contact that was left last, maybe that of an earlier start; none if there is none.
  [[nodiscard]] virtual std::optional<Contact> find() = 0;
  /// Port at which the first rank must listen; 0 for any.
  [[nodiscard]] virtual int port() const { return 0; }
};

/// The contact place of a launch. Throws EnvironmentError if it cannot be used; `patience` says how
/// long to wait for it.
[[nodiscard]] std::unique_ptr<ContactPlace> contact_place(const MeetingPlace& place,
                                                          std::chrono::milliseconds patience);

}  // namespace sluice::engine
