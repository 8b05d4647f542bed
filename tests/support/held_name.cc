#include "tests/support/held_name.h"

#include <dlfcn.h>
#include <netdb.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace stout::test {
namespace {

std::mutex mutex;
std::condition_variable changed;
std::string held_name;  // empty: none
bool minute_over = false;

// Returns false at once for other names.
bool Hold(const char* name) {
  std::unique_lock lock(mutex);
  if (name == nullptr || held_name.empty() || held_name != name) return false;
  const bool released =
      changed.wait_for(lock, std::chrono::minutes(1), [] { return held_name.empty(); });
  if (!released) minute_over = true;
  return true;
}

}  // namespace

HeldName::HeldName(std::string name) {
  const std::lock_guard lock(mutex);
  held_name = std::move(name);
  minute_over = false;
}

HeldName::~HeldName() {
  const std::lock_guard lock(mutex);
  held_name.clear();
  changed.notify_all();
}

bool HeldName::timed_out() const {
  const std::lock_guard lock(mutex);
  return minute_over;
}

}  // namespace stout::test

// In place of that of the C library, for the whole program.
extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints,
                           addrinfo** found) {
  if (stout::test::Hold(name)) return EAI_AGAIN;
  static const auto real =
      reinterpret_cast<decltype(&getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  return real(name, service, hints, found);
}
