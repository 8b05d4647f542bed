#pragma once

#include <string>

namespace stout::test {

// While it exists, getaddrinfo() of this program does not return for this name, as if the DNS did
// not answer. It returns an error after that, or after a minute. One at a time.
class HeldName {
 public:
  explicit HeldName(std::string name);
  ~HeldName();
  HeldName(const HeldName&) = delete;
  HeldName& operator=(const HeldName&) = delete;

  // Returns true if a call has waited for the minute.
  [[nodiscard]] bool timed_out() const;
};

}  // namespace stout::test
