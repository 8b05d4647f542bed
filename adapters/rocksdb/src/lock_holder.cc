#include "lock_holder.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <fstream>
#include <optional>
#include <sstream>

namespace stout::rocksdb_store {
namespace {

// Reads /proc/locks. F_GETLK would need an open file, and closing that file would drop a lock that
// another database of this process may have on it. A line of /proc/locks:
//   1: POSIX  ADVISORY  WRITE 1234 08:01:5678 0 EOF     (process, device:inode)
std::optional<long> FindHolder(ino_t inode) {
  std::ifstream locks("/proc/locks");
  std::string line;
  const std::string inode_suffix = fmt::format(":{}", inode);
  while (std::getline(locks, line)) {
    std::istringstream fields(line);
    std::string number, family, manners, access, file;
    long process = 0;
    fields >> number >> family >> manners >> access >> process >> file;
    // A process outside our PID namespace shows as 0, a blocked waiter has "->" as its family.
    if (fields && family == "POSIX" && process > 0 && file.ends_with(inode_suffix)) return process;
  }
  return std::nullopt;
}

}  // namespace

std::string DescribeLockHolder(const std::string& path) {
  struct stat lock_file {};
  if (::stat((path + "/LOCK").c_str(), &lock_file) == 0) {
    if (const std::optional<long> process = FindHolder(lock_file.st_ino)) {
      std::string command;
      std::getline(std::ifstream(fmt::format("/proc/{}/comm", *process)), command);
      return fmt::format("process {} ({})", *process, command);
    }
  }
  return "another process";
}

}  // namespace stout::rocksdb_store
