#include "server/change_recorder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

namespace stout::docstore {
namespace {

constexpr std::string_view kHeader = "time,key,bytes\n";

// Returns true if overwriting the file would lose something. A server that did not get to serve
// leaves the header alone.
bool HasContent(const std::string& file) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(file, unknown)) return false;
  std::string head(kHeader.size() + 1, '\0');
  std::ifstream in(file, std::ios::binary);
  if (!in.is_open()) return true;
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(in.gcount()));
  return !head.empty() && head != kHeader;
}

// Removes the bytes that the file has taken from the front of `text`. Returns 0 or the error.
int WriteAll(int fd, std::string_view& text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

// Takes the file for this process. Returns 0 or the error. Two processes that wrote
// to one file would cut each other's lines.
int Claim(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return errno;
  if (!S_ISREG(status.st_mode)) return 0;  // a pipe, say
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) return errno == EWOULDBLOCK ? EBUSY : errno;
  return 0;
}

}  // namespace

std::shared_ptr<ChangeRecorder> ChangeRecorder::Open(const std::string& file, std::string& problem,
                                                     std::size_t max_waiting_bytes) {
  // The reader of a pipe may end before the server does. This is an error, and no signal.
  std::signal(SIGPIPE, SIG_IGN);
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  int error = fd < 0 ? errno : Claim(fd);
  if (error == 0 && HasContent(file)) {
    problem = fmt::format(
        "cannot record to {}: the file is not empty; move it away, or name a new file with "
        "--record",
        file);
    ::close(fd);
    return nullptr;
  }
  if (error == 0 && ::ftruncate(fd, 0) != 0 && errno != EINVAL) error = errno;  // EINVAL: a pipe
  std::string_view header = kHeader;
  if (error == 0) error = WriteAll(fd, header);
  if (error != 0) {
    problem = fmt::format("cannot record to {}: {}; name another file with --record", file,
                          std::strerror(error));
    if (fd >= 0) ::close(fd);
    return nullptr;
  }
  spdlog::info("recording changes to {}", file);
  return std::shared_ptr<ChangeRecorder>(new ChangeRecorder(file, fd, max_waiting_bytes));
}

ChangeRecorder::ChangeRecorder(std::string file, int fd, std::size_t max_waiting_bytes)
    : file_(std::move(file)),
      fd_(fd),
      max_waiting_bytes_(max_waiting_bytes),
      written_bytes_(kHeader.size()) {
  // At once, because a string that grows takes up to twice the memory.
  waiting_.reserve(max_waiting_bytes_);
  thread_ = std::thread([this] { Run(); });
}

ChangeRecorder::~ChangeRecorder() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_one();
  thread_.join();
  ::close(fd_);
  if (!failed_) spdlog::info("recorded {} changes to {}", added_, file_);
}

// The time is taken under the lock, because lines must be in order of time.
void ChangeRecorder::Add(KeyView key, std::size_t bytes) {
  constexpr std::size_t kMaxNumbers = 64;
  const std::lock_guard lock(mutex_);
  if (failed_) return;
  if (waiting_.size() + key.size() + kMaxNumbers > max_waiting_bytes_) {
    ++dropped_;
    return;
  }
  const bool was_short = waiting_.size() < max_waiting_bytes_ / 2;
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(
                      std::chrono::steady_clock::now() - started_)
                      .count();
  fmt::format_to(std::back_inserter(waiting_), "{}.{:06},{},{}\n", us / 1'000'000, us % 1'000'000,
                 key, bytes);
  ++added_;
  if (was_short && waiting_.size() >= max_waiting_bytes_ / 2) wake_.notify_one();
}

std::uint64_t ChangeRecorder::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

void ChangeRecorder::Run() {
  std::string lines;
  lines.reserve(max_waiting_bytes_);
  std::uint64_t reported = 0;
  std::unique_lock lock(mutex_);
  for (bool closing = false; !closing && !failed_;) {
    wake_.wait_for(lock, std::chrono::seconds(1),
                   [this] { return closing_ || waiting_.size() >= max_waiting_bytes_ / 2; });
    closing = closing_;  // nothing is added any more
    lines.clear();
    lines.swap(waiting_);
    const std::uint64_t dropped = dropped_;
    lock.unlock();
    if (dropped > reported) {
      spdlog::warn("the recording {} lacks {} more changes: the disk is too slow for it", file_,
                   dropped - reported);
      reported = dropped;
    }
    const bool taken = Write(lines);
    lock.lock();
    if (!taken) {
      failed_ = true;
      waiting_ = {};
    }
  }
}

bool ChangeRecorder::Write(const std::string& lines) {
  std::string_view rest = lines;
  const int error = WriteAll(fd_, rest);
  const std::string_view taken(lines.data(), lines.size() - rest.size());
  written_bytes_ += taken.rfind('\n') + 1;  // npos + 1 is 0
  if (error == 0) return true;
  // No effect on a pipe.
  [[maybe_unused]] const int ignored = ::ftruncate(fd_, static_cast<off_t>(written_bytes_));
  spdlog::error("the recording ends, and the server goes on: cannot write {}: {}", file_,
                std::strerror(error));
  return false;
}

}  // namespace stout::docstore
