#include "resp/server/process_usage.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

namespace stout::resp {
namespace {

double InSeconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

ProcessUsage ProcessUsage::Now() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t size = 0, resident = 0;
  file >> size >> resident;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return {resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)), InSeconds(usage.ru_utime),
          InSeconds(usage.ru_stime)};
}

}  // namespace stout::resp
