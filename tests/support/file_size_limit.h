#pragma once

#include <sys/resource.h>

#include <csignal>
#include <stdexcept>

namespace stout::test {

// Simulates a full disk: while it exists, no file of this process grows beyond `bytes`. A write
// that would do so fails.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    const bool known = ::getrlimit(RLIMIT_FSIZE, &old_limit_) == 0;
    const rlimit limit{bytes, old_limit_.rlim_max};
    if (!known || ::setrlimit(RLIMIT_FSIZE, &limit) != 0) {
      throw std::runtime_error("cannot limit the files of this process");
    }
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_limit_);
    std::signal(SIGXFSZ, old_handler_);
  }

 private:
  void (*const old_handler_)(int);
  rlimit old_limit_{};
};

}  // namespace stout::test
