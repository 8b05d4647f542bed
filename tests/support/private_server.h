#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/support/process.h"
#include "tests/support/temp_directory.h"

namespace stout::test {

// A port of the loopback that nobody listens on now.
[[nodiscard]] int FreePort();

// A server for one test, on a free port of the loopback; its files and its processes are gone at
// the end. Which server: the derived class, whose constructor ends with StartOnFreePort().
class PrivateServer {
 public:
  PrivateServer(const PrivateServer&) = delete;
  PrivateServer& operator=(const PrivateServer&) = delete;

  [[nodiscard]] int port() const { return port_; }

  void Start();             // Again, where it was. Throws, with its log, if it does not.
  void Kill();              // kill -9: what was in its memory is gone.
  void Signal(int signal);  // To all its processes: SIGSTOP, SIGCONT.
  // As Process::FillDisk, for a server of one process. One that has ended, perhaps by that, is left
  // alone.
  void FillDisk(bool full);
  // It runs, and was not told to stand still.
  [[nodiscard]] bool Up() const;
  // Returns its standard output and error.
  [[nodiscard]] std::string Log() const;

 protected:
  // `name`: in messages. `user`: who runs it and has its directory, where the test runs as root.
  explicit PrivateServer(std::string name, std::string user = {});
  virtual ~PrivateServer() = default;

  void StartOnFreePort();
  [[nodiscard]] const std::string& directory() const { return directory_.path(); }

 private:
  // Command that starts it on port(), with all its files in directory().
  [[nodiscard]] virtual std::vector<std::string> Command() const = 0;
  // It is ready to serve.
  [[nodiscard]] virtual bool Answers() const = 0;

  void TryToStart();

  const std::string name_;
  const std::string user_;
  TempDirectory directory_;
  int port_ = 0;
  bool stopped_ = false;
  std::unique_ptr<Process> process_;  // Ends before its directory.
};

}  // namespace stout::test
