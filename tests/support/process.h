#pragma once

#include <sys/types.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

namespace stout::test {

// A program that runs beside the test, with all that it writes in a file, until the object is
// destroyed. It dies with the thread that started it, too.
class Process {
 public:
  // `user`: run as that one where the test runs as root; empty: as the test.
  Process(std::vector<std::string> command, const std::filesystem::path& log,
          const std::string& user = {});
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  // Kills it and its children, and waits until they are gone.
  ~Process();

  void Signal(int signal) const;
  // And to its children.
  void SignalAll(int signal) const;
  // Makes all its writes to files fail, as on a full disk, or lets them succeed again. The command
  // must begin with kWithoutFileSignal.
  void FillDisk(bool full) const;
  // Waits until it has ended. -1: it was killed.
  int Wait();
  [[nodiscard]] bool Running();

 private:
  [[nodiscard]] std::vector<pid_t> Children() const;

  pid_t pid_ = -1;
};

// Makes a program ignore the signal that would end it after such a write.
inline const std::vector<std::string> kWithoutFileSignal = {"env", "--ignore-signal=XFSZ"};

// Runs a program to its end; answers what it wrote. Throws, with that, unless it succeeds.
std::string RunToEnd(const std::vector<std::string>& command, const std::string& user = {});

}  // namespace stout::test
