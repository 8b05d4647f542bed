#include "stores/rocksdb_writer.h"

#include <fmt/format.h>
#include <rocksdb/db.h>

#include <boost/asio/post.hpp>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "stores/writer_pool.h"

namespace stout::bench {
namespace {

namespace asio = boost::asio;

/// As stout::RocksDbStore opens its own, where that matters to writes.
rocksdb::Options MakeOptions() {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.max_background_jobs = 4;
  options.bytes_per_sync = std::size_t{1} << 20;
  options.max_write_buffer_number = 4;
  return options;
}

std::unique_ptr<rocksdb::DB> OpenDatabase(const std::string& path) {
  rocksdb::DB* raw = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(MakeOptions(), path, &raw);
  if (!status.ok())
    throw std::runtime_error(fmt::format("rocksdb:{}: {}", path, status.ToString()));
  return std::unique_ptr<rocksdb::DB>(raw);
}

class RocksDbWriter final : public Writer {
 public:
  RocksDbWriter(const std::string& path, std::size_t threads, asio::io_context& context)
      : context_(context), database_(OpenDatabase(path)) {
    for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
  }
  ~RocksDbWriter() override {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      queue_.clear();
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void Write(KeyView key, std::string_view value, Done done) override {
    ++under_way_;
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back({key, value, std::move(done)});
    }
    changed_.notify_one();
  }

  void Cancel() override {
    std::deque<PendingWrite> cancelled;
    {
      const std::lock_guard lock(mutex_);
      cancelled.swap(queue_);
    }
    asio::post(context_, [this, cancelled = std::move(cancelled)]() mutable {
      for (PendingWrite& write : cancelled) Finish(write.done, Errc::kClosed);
    });
  }

  [[nodiscard]] bool Idle() const override { return under_way_ == 0; }

 private:
  void Work() {
    rocksdb::WriteOptions options;
    options.sync = true;
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return closed_ || !queue_.empty(); });
      if (closed_) return;
      PendingWrite write = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      const rocksdb::Status status = database_->Put(options, {write.key.data(), write.key.size()},
                                                    {write.value.data(), write.value.size()});
      asio::post(context_, [this, status, done = std::move(write.done)]() mutable {
        if (!status.ok()) throw std::runtime_error("plain RocksDB: " + status.ToString());
        Finish(done, {});
      });
      lock.lock();
    }
  }

  void Finish(Done& done, ErrorCode error) {
    --under_way_;
    done(error);
  }

  asio::io_context& context_;
  std::size_t under_way_ = 0;  // on the context
  const std::unique_ptr<rocksdb::DB> database_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<PendingWrite> queue_;
  bool closed_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<Writer> OpenRocksDbWriter(const std::string& path, const WriterSpec& spec,
                                          asio::io_context& context) {
  if (spec.pipelined) throw std::runtime_error("RocksDB cannot pipeline: use pool:N, of N threads");
  return std::make_unique<RocksDbWriter>(path, spec.connections, context);
}

}  // namespace stout::bench
