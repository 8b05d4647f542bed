#include "tests/support/held_name.h"

#include <dlfcn.h>
#include <netdb.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

namespace stout::test {
namespace {

std::mutex mutex;
std::condition_variable changed;
std::string held_name;  // empty: none
bool awaited = false;
bool minute_over = false;
std::string listed_name;  // empty: none
std::vector<std::string> listed;

// Returns false at once for other names.
bool Hold(const char* name) {
  std::unique_lock lock(mutex);
  if (name == nullptr || held_name.empty() || held_name != name) return false;
  awaited = true;
  const bool released =
      changed.wait_for(lock, std::chrono::minutes(1), [] { return held_name.empty(); });
  if (!released) minute_over = true;
  return true;
}

std::vector<std::string> AddressesOf(const char* name) {
  const std::lock_guard lock(mutex);
  const bool ours = name != nullptr && !listed_name.empty() && listed_name == name;
  return ours ? listed : std::vector<std::string>();
}

}  // namespace

HeldName::HeldName(std::string name) {
  const std::lock_guard lock(mutex);
  held_name = std::move(name);
  awaited = minute_over = false;
}

HeldName::~HeldName() {
  const std::lock_guard lock(mutex);
  held_name.clear();
  changed.notify_all();
}

bool HeldName::waiting() const {
  const std::lock_guard lock(mutex);
  return awaited;
}

bool HeldName::timed_out() const {
  const std::lock_guard lock(mutex);
  return minute_over;
}

NamedAddresses::NamedAddresses(std::string name, std::vector<std::string> addresses) {
  const std::lock_guard lock(mutex);
  listed_name = std::move(name);
  listed = std::move(addresses);
}

NamedAddresses::~NamedAddresses() {
  const std::lock_guard lock(mutex);
  listed_name.clear();
}

}  // namespace stout::test

// In place of that of the C library, for the whole program.
extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints,
                           addrinfo** found) {
  if (stout::test::Hold(name)) return EAI_AGAIN;
  static const auto real =
      reinterpret_cast<decltype(&getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  const std::vector<std::string> addresses = stout::test::AddressesOf(name);
  if (addresses.empty()) return real(name, service, hints, found);
  // freeaddrinfo() frees each element by itself, so lists may be joined.
  addrinfo** end = found;
  for (const std::string& address : addresses) {
    if (const int failed = real(address.c_str(), service, hints, end)) return failed;
    while (*end != nullptr) end = &(*end)->ai_next;
  }
  return 0;
}
