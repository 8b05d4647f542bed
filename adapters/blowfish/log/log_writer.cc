#include "blowfish/log/log_writer.h"

#include <cassert>

namespace stout::blowfish {
namespace {

// Larger buffers are not kept for the next group.
constexpr std::size_t kKeptBytes = std::size_t{4} << 20;

}  // namespace

void LogWriter::Waiting::Clear() {
  if (frame.capacity() > kKeptBytes) frame = std::string();
  frame.resize(kFrameHeadBytes);
  appends.clear();
  rotations.clear();
}

LogWriter::LogWriter(LogAppender appender, Options options)
    : options_(std::move(options)), appender_(std::move(appender)) {
  if (options_.own_thread) committer_ = std::thread([this] { RunCommitter(); });
}

LogWriter::~LogWriter() { Close(); }

void LogWriter::Append(std::string_view payload, Completion completion) {
  assert(!payload.empty());
  {
    const std::lock_guard lock(mutex_);
    assert(!closed_);
    const std::size_t before = waiting_.frame.size();
    waiting_.frame.append(payload);
    try {
      waiting_.appends.push_back(std::move(completion));
    } catch (...) {
      waiting_.frame.resize(before);
      throw;
    }
  }
  work_.notify_one();
}

void LogWriter::Rotate(RotateHandler handler) {
  {
    const std::lock_guard lock(mutex_);
    assert(!closed_);
    waiting_.rotations.push_back(std::move(handler));
  }
  work_.notify_one();
}

void LogWriter::Poll() {
  std::vector<Done> done;
  {
    const std::lock_guard lock(mutex_);
    done.swap(done_);
    if (failures_.count != new_failures_.count) failures_ = new_failures_;
  }
  for (Done& call : done) call.completion(call.errc);
}

bool LogWriter::CommitWaiting() {
  assert(!options_.own_thread);
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) return false;
    std::swap(waiting_, committing_);
  }
  Commit();
  return true;
}

void LogWriter::RunCommitter() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [this] { return closed_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    std::swap(waiting_, committing_);
    lock.unlock();
    Commit();
    lock.lock();
  }
}

void LogWriter::Commit() {
  Errc appended = Errc::kOk;
  if (committing_.frame.size() - kFrameHeadBytes > options_.max_payload_bytes) {
    appended = Errc::kTransient;
  } else if (!committing_.appends.empty()) {
    appended = appender_.Commit(&committing_.frame);
  }
  Errc rotated = Errc::kOk;
  if (!committing_.rotations.empty() && appender_.Rotate()) rotated = Errc::kTransient;
  const std::uint64_t sequence = appender_.sequence();
  bool wake;
  {
    const std::lock_guard lock(mutex_);
    wake = done_.empty();
    if (appended != Errc::kOk || rotated != Errc::kOk) {
      ++new_failures_.count;
      new_failures_.last = appender_.failure();
    }
    for (Completion& completion : committing_.appends) {
      done_.push_back({std::move(completion), appended});
    }
    for (RotateHandler& handler : committing_.rotations) {
      done_.push_back(
          {[handler = std::move(handler), sequence](Errc errc) mutable { handler(errc, sequence); },
           rotated});
    }
  }
  committing_.Clear();
  if (wake && options_.wake) options_.wake();
}

void LogWriter::Close() {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    closed_ = true;
  }
  work_.notify_one();
  if (committer_.joinable()) {
    committer_.join();
  } else {
    CommitWaiting();
  }
  appender_.Close();
}

}  // namespace stout::blowfish
