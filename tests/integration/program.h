#pragma once

#include <fmt/format.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/process.h"

namespace stout::test {

// A program on a port of its own, again and again.
class Program {
 public:
  Program(std::string name, std::vector<std::string> command, const std::filesystem::path& log,
          int port)
      : name_(std::move(name)), command_(std::move(command)), log_(log), port_(port) {
    command_.insert(command_.end(), {"--listen", fmt::format("127.0.0.1:{}", port_)});
    Start();
  }

  void Start() {
    ending_ = false;
    process_ = std::make_unique<Process>(command_, log_);
  }
  // Starts the program again if it has ended, as a service manager does. A server that cannot reach
  // its store at its start ends.
  void KeepUp() {
    if (process_ && !ending_ && !process_->Running()) Start();
  }
  void Kill() { process_.reset(); }
  [[nodiscard]] bool Running() { return process_ && process_->Running(); }
  void Signal(int signal) {
    process_->Signal(signal);
    if (signal == SIGTERM) ending_ = true;
  }
  // See Process::FillDisk.
  void FillDisk(bool full) { process_->FillDisk(full); }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] int port() const { return port_; }

 private:
  const std::string name_;
  std::vector<std::string> command_;
  const std::filesystem::path log_;
  const int port_;
  std::unique_ptr<Process> process_;
  bool ending_ = false;
};

}  // namespace stout::test
