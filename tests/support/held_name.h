#pragma once

#include <string>
#include <vector>

namespace stout::test {

// While it exists, getaddrinfo() of this program does not return for this name, as if the DNS did
// not answer. It returns an error after that, or after a minute. One at a time.
class HeldName {
 public:
  explicit HeldName(std::string name);
  ~HeldName();
  HeldName(const HeldName&) = delete;
  HeldName& operator=(const HeldName&) = delete;

  // Returns true once a call waits.
  [[nodiscard]] bool waiting() const;
  // Returns true if a call has waited for the minute.
  [[nodiscard]] bool timed_out() const;
};

// While it exists, getaddrinfo() of this program finds these numeric addresses for this name, in
// this order. One at a time.
class NamedAddresses {
 public:
  NamedAddresses(std::string name, std::vector<std::string> addresses);
  ~NamedAddresses();
  NamedAddresses(const NamedAddresses&) = delete;
  NamedAddresses& operator=(const NamedAddresses&) = delete;
};

}  // namespace stout::test
