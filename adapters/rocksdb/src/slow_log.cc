#include "slow_log.h"

#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace stout::rocksdb_store {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

class SlowFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  SlowFile(std::unique_ptr<rocksdb::FSWritableFile> target, Duration delay)
      : FSWritableFileOwnerWrapper(std::move(target)), delay_(delay) {}

  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    std::this_thread::sleep_for(delay_);
    return target()->Sync(options, debug);
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    std::this_thread::sleep_for(delay_);
    return target()->Fsync(options, debug);
  }

 private:
  const Duration delay_;
};

class SlowLog final : public rocksdb::FileSystemWrapper {
 public:
  SlowLog(const std::shared_ptr<rocksdb::FileSystem>& target, Duration delay)
      : FileSystemWrapper(target), delay_(delay) {}

  const char* Name() const override { return "stout.SlowLog"; }

  // RocksDB makes every log by this call, because the database does not recycle its logs.
  IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file,
                           IODebugContext* debug) override {
    IOStatus status = target()->NewWritableFile(name, options, file, debug);
    if (status.ok() && std::string_view(name).ends_with(".log")) {
      *file = std::make_unique<SlowFile>(std::move(*file), delay_);
    }
    return status;
  }

 private:
  const Duration delay_;
};

}  // namespace

std::shared_ptr<rocksdb::FileSystem> MakeSlowLog(std::shared_ptr<rocksdb::FileSystem> target,
                                                 Duration delay) {
  return std::make_shared<SlowLog>(std::move(target), delay);
}

}  // namespace stout::rocksdb_store
