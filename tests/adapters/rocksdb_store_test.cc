#include "stout/adapters/rocksdb_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <rocksdb/db.h>
#include <rocksdb/file_system.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <latch>

#include "rocksdb_test_support.h"
#include "slow_log.h"
#include "status_log.h"
#include "store_test_support.h"
#include "tests/support/catch.h"
#include "tests/support/file_size_limit.h"
#include "tests/support/log_capture.h"

namespace stout::test {
namespace {

using namespace std::chrono_literals;
using Catch::Contains;

// Opens and expects to fail.
struct Failure {
  ErrorCode error;
  std::string message;
};
Failure FailToOpen(const std::string& path) {
  Diagnostics why;
  const auto store = RocksDbStore::Open({.path = path}, &why);
  return {store ? ErrorCode() : store.error(), why.message};
}

// The database as RocksDB alone sees it, to put there what the adapter would not.
class RawDatabase {
 public:
  explicit RawDatabase(const std::string& path, bool ours = true) {
    std::vector<rocksdb::ColumnFamilyDescriptor> families = {
        {rocksdb::kDefaultColumnFamilyName, {}}};
    if (ours) families.emplace_back("stout.meta", rocksdb::ColumnFamilyOptions());
    rocksdb::DBOptions options;
    options.create_if_missing = true;
    rocksdb::DB* db = nullptr;
    REQUIRE(rocksdb::DB::Open(options, path, families, &families_, &db).ok());
    db_.reset(db);
  }
  ~RawDatabase() {
    for (rocksdb::ColumnFamilyHandle* family : families_) db_->DestroyColumnFamilyHandle(family);
  }
  void Put(std::size_t family, const std::string& key, const std::string& bytes) {
    REQUIRE(db_->Put(rocksdb::WriteOptions(), families_.at(family), key, bytes).ok());
  }

 private:
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;
};

TEST_CASE("a rocksdb store makes its directory and the parents of it", "[rocksdb]") {
  const TempDirectory directory;
  const std::string path = directory.path() + "/a/b/c";
  const auto store = OpenOrThrow({.path = path});
  CHECK(WriteNow(*store, Batch(1, {Put("k", "v", 1)})) == WriteResult{});
  CHECK(std::filesystem::exists(path + "/CURRENT"));
}

TEST_CASE("a path that cannot be a directory is a clear error", "[rocksdb]") {
  const TempDirectory directory;
  std::ofstream(directory.path() + "/file") << "x";
  const Failure failure = FailToOpen(directory.path() + "/file/db");
  CHECK(failure.error == Errc::kBadUrl);
  CHECK_THAT(failure.message, Contains("cannot create the directory"));
}

TEST_CASE("a database that this process has open is a clear error", "[rocksdb]") {
  const TempDirectory directory;
  const auto store = OpenOrThrow({.path = directory.path()});
  const Failure failure = FailToOpen(directory.path());
  CHECK(failure.error == Errc::kTransient);
  CHECK_THAT(failure.message, Contains("this process has the database open already"));
  CHECK(WriteNow(*store, Batch(1, {Put("k", "v", 1)})) == WriteResult{});
}

// The other process is a fork that takes the lock as RocksDB does and holds it until its pipe is
// closed.
TEST_CASE("a database that another process has open is a clear error that names it", "[rocksdb]") {
  const TempDirectory directory;
  OpenOrThrow({.path = directory.path()}).reset();
  const std::string lock_file = directory.path() + "/LOCK";
  int locked[2];
  int release[2];
  REQUIRE(::pipe(locked) == 0);
  REQUIRE(::pipe(release) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(release[1]);
    const int file = ::open(lock_file.c_str(), O_RDWR);
    struct flock lock {};
    lock.l_type = F_WRLCK;
    char byte = ::fcntl(file, F_SETLK, &lock) == 0 ? 1 : 0;
    if (::write(locked[1], &byte, 1) != 1 || ::read(release[0], &byte, 1) != 0) ::_exit(1);
    ::_exit(0);
  }
  char byte = 0;
  REQUIRE(::read(locked[0], &byte, 1) == 1);
  REQUIRE(byte == 1);
  const Failure failure = FailToOpen(directory.path());
  ::close(release[1]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  for (const int end : {locked[0], locked[1], release[0]}) ::close(end);
  CHECK(failure.error == Errc::kTransient);
  CHECK_THAT(failure.message, Contains("has the database open"));
  if (std::filesystem::exists("/proc/locks")) {
    CHECK_THAT(failure.message, Contains(fmt::format("process {} (", child)));
  }
  CHECK(FailToOpen(directory.path()).error == ErrorCode());
}

TEST_CASE("a database of another program is left alone", "[rocksdb]") {
  const TempDirectory directory;
  RawDatabase(directory.path(), /*ours=*/false).Put(0, "theirs", "x");
  const Failure failure = FailToOpen(directory.path());
  CHECK(failure.error == Errc::kBadUrl);
  CHECK_THAT(failure.message, Contains("another program"));
  RawDatabase(directory.path(), /*ours=*/false).Put(0, "still opens without our family", "x");
}

TEST_CASE("a database whose creation was cut short is taken over", "[rocksdb]") {
  const TempDirectory directory;
  { const RawDatabase empty(directory.path(), /*ours=*/false); }
  CHECK(NewEpochNow(*OpenOrThrow({.path = directory.path()})) == 1);
}

TEST_CASE("a database in a later format is not touched", "[rocksdb]") {
  const TempDirectory directory;
  OpenOrThrow({.path = directory.path()}).reset();
  RawDatabase(directory.path()).Put(1, "format", "2");
  const Failure failure = FailToOpen(directory.path());
  CHECK(failure.error == Errc::kBadUrl);
  CHECK_THAT(failure.message, Contains("format '2'"));
}

TEST_CASE("a damaged database is an error, not a crash", "[rocksdb]") {
  const TempDirectory directory;
  OpenOrThrow({.path = directory.path()}).reset();
  SECTION("its epoch") {
    RawDatabase(directory.path()).Put(1, "max_epoch", "short");
    CHECK(FailToOpen(directory.path()).error == Errc::kCorrupt);
  }
  SECTION("the name of its manifest") {
    std::ofstream(directory.path() + "/CURRENT") << "nonsense";
    const Failure failure = FailToOpen(directory.path());
    CHECK(failure.error == Errc::kCorrupt);
    CHECK_THAT(failure.message, Contains("damaged"));
  }
}

TEST_CASE("bytes that are no record are kCorrupt to readers and refused to writers", "[rocksdb]") {
  using namespace std::string_literals;
  const TempDirectory directory;
  const std::string garbage =
      GENERATE(""s, "\1"s, "\2 of a later format, no doubt"s, "no header here, no"s,
               "\1\7 a kind that there is not"s, "\1\1 a tombstone with no time"s);
  CAPTURE(garbage);
  OpenOrThrow({.path = directory.path()}).reset();
  RawDatabase(directory.path()).Put(0, "bad", garbage);
  const auto store = OpenOrThrow({.path = directory.path()});
  const ReadResult both = ReadNow(*store, {"good", "bad"});
  CHECK(both.errc == Errc::kOk);  // one bad key harms no other
  CHECK(both.states.at(0) == StoredState{});
  CHECK(both.states.at(1).errc == Errc::kCorrupt);
  CHECK(WriteNow(*store, Batch(1, {Put("bad", "v", 1), Put("good", "v", 2)})) ==
        WriteResult{Errc::kOk, {{0, Errc::kRefused}}});
  CHECK(ReadOne(*store, "good") == Found("v", {1, 2}));
  CHECK_FALSE(store->Compact());
  CHECK(ReadOne(*store, "bad").errc == Errc::kCorrupt);
}

TEST_CASE("compaction drops tombstones after their time, and no sooner", "[rocksdb]") {
  const TempDirectory directory;
  const auto [ttl, collected] = GENERATE(table<Duration, bool>({{0ns, true}, {1h, false}}));
  const auto store = OpenOrThrow({.path = directory.path(), .tombstone_ttl = ttl});
  REQUIRE(WriteNow(*store, Batch(1, {Put("deleted", "v", 1), Put("kept", "v", 2)})) ==
          WriteResult{});
  REQUIRE(WriteNow(*store, Batch(1, {Delete("deleted", 3)})) == WriteResult{});
  REQUIRE_FALSE(store->Compact());
  // A tombstone shows by its stamp, and by what it does to older writes.
  CHECK(ReadOne(*store, "deleted").stamp == (collected ? Stamp{} : Stamp{1, 3}));
  CHECK(WriteNow(*store, Batch(1, {Put("deleted", "ghost", 2)})) == WriteResult{});
  CHECK(ReadOne(*store, "deleted").found == collected);
  CHECK(ReadOne(*store, "kept") == Found("v", {1, 2}));
}

TEST_CASE("calls beyond max_queue are turned away at once", "[rocksdb]") {
  const TempDirectory directory;
  auto store = OpenOrThrow({.path = directory.path(), .threads = 1, .max_queue = 2});
  std::latch in_handler(1);
  std::latch go_on(1);
  const WriteBatch first = Batch(1, {Put("a", "v", 1)});
  store->Write(first, [&](WriteResult) {
    in_handler.count_down();
    go_on.wait();
  });
  in_handler.wait();
  const WriteBatch second = Batch(1, {Put("b", "v", 2)});
  std::atomic<bool> second_done = false;
  store->Write(second, [&](WriteResult result) { second_done = result == WriteResult{}; });
  const WriteBatch third = Batch(1, {Put("c", "v", 3)});
  CHECK(WriteNow(*store, third).batch == Errc::kTransient);
  CHECK(ReadNow(*store, {"a"}).errc == Errc::kTransient);
  CHECK(NewEpochNow(*store) == 0);
  go_on.count_down();
  store.reset();
  CHECK(second_done);
}

TEST_CASE("a read is told of the reads that wait behind it", "[rocksdb]") {
  const TempDirectory directory;
  auto store = OpenOrThrow({.path = directory.path(), .read_threads = 1});
  std::latch in_handler(1);
  std::latch go_on(1);
  ReadBatch read;
  read.keys = {"k"};
  store->Read(read, [&](const ReadResult&) {
    in_handler.count_down();
    go_on.wait();
  });
  in_handler.wait();
  std::vector<std::size_t> queues;  // on the only thread that reads
  for (int i = 0; i < 3; ++i) {
    store->Read(read, [&](const ReadResult& result) { queues.push_back(result.queue); });
  }
  go_on.count_down();
  store.reset();
  CHECK(queues == std::vector<std::size_t>{2, 1, 0});
}

TEST_CASE("a store recovers once the disk does, with all that it answered for", "[rocksdb]") {
  const TempDirectory directory;
  const Duration sync_delay = GENERATE(0ms, 1ms);
  const auto store = OpenOrThrow({.path = directory.path(), .sync_delay = sync_delay});
  const Epoch epoch = NewEpochNow(*store);
  REQUIRE(WriteNow(*store, Batch(epoch, {Put("before", "v", 1)})) == WriteResult{});
  const WriteBatch large = Batch(epoch, {Put("large", std::string(std::size_t{1} << 20, 'x'), 2)});
  {
    const FileSizeLimit limit(std::size_t{256} << 10);
    CHECK(WriteNow(*store, large).batch == Errc::kUnknown);
    for (int i = 0; i < 3; ++i) {
      const Errc answer = WriteNow(*store, large).batch;
      CHECK((answer == Errc::kUnknown || answer == Errc::kTransient));
    }
  }
  CHECK(WriteNow(*store, large) == WriteResult{});
  CHECK(ReadOne(*store, "before") == Found("v", {epoch, 1}));
  CHECK(ReadOne(*store, "large").stamp == Stamp{epoch, 2});
  CHECK(NewEpochNow(*store) > epoch);
}

TEST_CASE("a disk that fails is logged once with a remedy, and once when it works", "[rocksdb]") {
  const TempDirectory directory;
  const auto store = OpenOrThrow({.path = directory.path()});
  const LogCapture log;
  REQUIRE(WriteNow(*store, Batch(1, {Put("k", "v", 1)})) == WriteResult{});
  CHECK(log.text().empty());
  const WriteBatch large = Batch(1, {Put("large", std::string(std::size_t{1} << 20, 'x'), 2)});
  {
    const FileSizeLimit limit(std::size_t{256} << 10);
    for (int i = 0; i < 10; ++i) CHECK(WriteNow(*store, large).batch != Errc::kOk);
  }
  CHECK(log.Count("rocksdb:" + directory.path() + ": IO error: ") == 1);
  CHECK(log.Count("File too large; check the disk of " + directory.path()) == 1);
  CHECK(log.Count("\n") == 1);
  for (Version version = 2; version <= 3; ++version) {
    CHECK(WriteNow(*store, Batch(1, {Put("k", "v", version)})) == WriteResult{});
  }
  CHECK(log.Count("rocksdb:" + directory.path() + ": writes succeed again") == 1);
  CHECK(log.Count("\n") == 2);
}

TEST_CASE("a database that cannot be opened again is logged with the reason", "[rocksdb]") {
  const TempDirectory directory;
  const auto store = OpenOrThrow({.path = directory.path()});
  const LogCapture log;
  const WriteBatch large = Batch(1, {Put("large", std::string(std::size_t{1} << 20, 'x'), 1)});
  {
    const FileSizeLimit limit(std::size_t{256} << 10);
    REQUIRE(WriteNow(*store, large).batch == Errc::kUnknown);
  }
  std::ofstream(directory.path() + "/CURRENT") << "nonsense";
  for (int i = 0; i < 10; ++i) CHECK(WriteNow(*store, large).batch == Errc::kTransient);
  CHECK(log.Count(": the database is damaged: ") == 1);
  CHECK(log.Count("; restore the database from a backup") == 1);
  CHECK(log.Count("again") == 0);
}

TEST_CASE("a fence opens a database again that could not be opened before", "[rocksdb]") {
  const TempDirectory directory;
  const std::string current = directory.path() + "/CURRENT";
  const auto store = OpenOrThrow({.path = directory.path()});
  const Epoch epoch = NewEpochNow(*store);
  const WriteBatch large = Batch(epoch, {Put("large", std::string(std::size_t{1} << 20, 'x'), 1)});
  {
    const FileSizeLimit limit(std::size_t{256} << 10);
    REQUIRE(WriteNow(*store, large).batch == Errc::kUnknown);
  }
  std::filesystem::rename(current, current + ".away");
  std::ofstream(current) << "nonsense";
  REQUIRE(WriteNow(*store, large).batch == Errc::kTransient);
  CHECK(FenceNow(*store, "scope", epoch) == Errc::kTransient);
  std::filesystem::rename(current + ".away", current);
  CHECK(FenceNow(*store, "scope", epoch) == Errc::kOk);
  CHECK(ReadOne(*store, "large").errc == Errc::kOk);
}

// For example, its volume was unmounted after an I/O error.
TEST_CASE("a database that disappeared is not created anew when it is opened again", "[rocksdb]") {
  const TempDirectory directory;
  const std::string path = directory.path() + "/db";
  const std::string other = directory.path() + "/other";
  const std::string away = directory.path() + "/away";
  const std::string fate = GENERATE("moved", "replaced", "without CURRENT");
  CAPTURE(fate);
  const std::string lost = fate == "without CURRENT" ? path + "/CURRENT" : path;
  const bool replaced = fate == "replaced";
  OpenOrThrow({.path = other}).reset();
  const auto store = OpenOrThrow({.path = path});
  const Epoch epoch = NewEpochNow(*store);
  REQUIRE(WriteNow(*store, Batch(epoch, {Put("before", "v", 1)})) == WriteResult{});
  REQUIRE_FALSE(store->Compact());  // RocksDB then recovers without a file
  const WriteBatch large = Batch(epoch, {Put("large", std::string(std::size_t{1} << 20, 'x'), 2)});
  const LogCapture log;
  {
    const FileSizeLimit limit(std::size_t{256} << 10);
    REQUIRE(WriteNow(*store, large).batch == Errc::kUnknown);
  }
  std::filesystem::rename(lost, away);
  if (replaced) std::filesystem::rename(other, path);
  for (int i = 0; i < 2; ++i) {
    CHECK(WriteNow(*store, large).batch == Errc::kTransient);
    CHECK(NewEpochNow(*store) == 0);
    CHECK(ReadNow(*store, {"before"}).errc == Errc::kTransient);
  }
  CHECK(log.Count(replaced ? "another database" : "has disappeared") == 1);
  if (replaced) std::filesystem::rename(path, other);
  REQUIRE_FALSE(std::filesystem::exists(lost));
  std::filesystem::rename(away, lost);
  CHECK(WriteNow(*store, large) == WriteResult{});
  CHECK(ReadOne(*store, "before") == Found("v", {epoch, 1}));
  CHECK(NewEpochNow(*store) == epoch + 1);
}

TEST_CASE("a damaged block is logged once, with a remedy", "[rocksdb]") {
  const TempDirectory directory;
  const auto store = OpenOrThrow({.path = directory.path()});
  REQUIRE(WriteNow(*store, Batch(1, {Put("k", "v", 1)})) == WriteResult{});
  REQUIRE_FALSE(store->Compact());
  DamageTables(directory.path());
  const LogCapture log;
  for (int i = 0; i < 10; ++i) {
    CHECK(ReadOne(*store, "k").errc == Errc::kCorrupt);
    CHECK(WriteNow(*store, Batch(1, {Put("k", "w", 2)})).batch == Errc::kTransient);
  }
  CHECK(log.Count("Corruption: block checksum mismatch") == 1);
  CHECK(log.Count("; restore the database from a backup") == 1);
  CHECK(log.Count("\n") == 1);
}

TEST_CASE("each kind of status is logged once with its remedy", "[rocksdb]") {
  using rocksdb::Status;
  const LogCapture captured;
  rocksdb_store::StatusLog log("/d");
  for (int i = 0; i < 3; ++i) {
    log.WriteFailed(Status::NoSpace("f"));
    log.WriteFailed(Status::Busy());  // RocksDB recovers from the above
    log.ReadFailed(Status::IOError("f"));
    log.ReadFailed(Status::Corruption("f"));
    log.ReadFailed(Status::PathNotFound("f"));
    log.ReadFailed(Status::TimedOut());
  }
  CHECK(captured.Count("No space left on device: f; free some space on the disk of /d\n") == 1);
  CHECK(captured.Count("IO error: f; check the disk of /d, ") == 1);
  CHECK(captured.Count("Corruption: f; restore the database from a backup\n") == 1);
  CHECK(captured.Count("No such file or directory: f; restore the database from a backup\n") == 1);
  CHECK(captured.Count("; log at level debug to see RocksDB's own lines\n") == 1);
  CHECK(captured.Count("\n") == 5);
}

TEST_CASE("a write on a slow volume takes at least the delay of its sync", "[rocksdb]") {
  const TempDirectory directory;
  const auto store = OpenOrThrow({.path = directory.path(), .sync_delay = 30ms});
  const auto start = std::chrono::steady_clock::now();
  CHECK(WriteNow(*store, Batch(1, {Put("k", "v", 1)})) == WriteResult{});
  CHECK(std::chrono::steady_clock::now() - start >= 30ms);
}

// Counts syncs, and fails them once told to.
class ScriptedDisk final : public rocksdb::FileSystemWrapper {
 public:
  ScriptedDisk() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "ScriptedDisk"; }

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override {
    auto status = target()->NewWritableFile(name, options, file, debug);
    if (status.ok()) *file = std::make_unique<File>(std::move(*file), *this);
    return status;
  }

  int syncs = 0;
  bool fails = false;

 private:
  class File final : public rocksdb::FSWritableFileOwnerWrapper {
   public:
    File(std::unique_ptr<rocksdb::FSWritableFile> target, ScriptedDisk& disk)
        : FSWritableFileOwnerWrapper(std::move(target)), disk_(disk) {}
    rocksdb::IOStatus Sync(const rocksdb::IOOptions&, rocksdb::IODebugContext*) override {
      ++disk_.syncs;
      return disk_.fails ? rocksdb::IOStatus::IOError("scripted") : rocksdb::IOStatus::OK();
    }
    rocksdb::IOStatus Fsync(const rocksdb::IOOptions& options,
                            rocksdb::IODebugContext* debug) override {
      return Sync(options, debug);
    }

   private:
    ScriptedDisk& disk_;
  };
};

TEST_CASE("a slow volume delays the syncs of logs alone, and hides no failure", "[rocksdb]") {
  const TempDirectory directory;
  const auto disk = std::make_shared<ScriptedDisk>();
  const auto open = [&](Duration delay, const std::string& name) {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    REQUIRE(rocksdb_store::MakeSlowLog(disk, delay)
                ->NewWritableFile(directory.path() + name, {}, &file, nullptr)
                .ok());
    return file;
  };
  const auto log = open(1ms, "/000004.log");
  CHECK(log->Sync({}, nullptr).ok());
  CHECK(log->Fsync({}, nullptr).ok());
  CHECK(disk->syncs == 2);
  CHECK(open(1h, "/000005.sst")->Sync({}, nullptr).ok());  // would take an hour
  CHECK(disk->syncs == 3);
  disk->fails = true;
  CHECK(log->Sync({}, nullptr).IsIOError());
  CHECK(log->Fsync({}, nullptr).IsIOError());
}

TEST_CASE("a store without sync keeps its data but does not claim to be durable", "[rocksdb]") {
  const TempDirectory directory;
  auto store = OpenOrThrow({.path = directory.path(), .sync = false});
  CHECK_FALSE(store->traits().durable);
  CHECK(WriteNow(*store, Batch(1, {Put("k", "v", 1)})) == WriteResult{});
  store.reset();
  store = OpenOrThrow({.path = directory.path()});
  CHECK(ReadOne(*store, "k") == Found("v", {1, 1}));
}

TEST_CASE("a batch beyond max_batch_bytes is too large", "[rocksdb]") {
  const TempDirectory directory;
  const auto store = OpenOrThrow({.path = directory.path()});
  WriteBatch batch = Batch(1, {Put("k", "v", 1)});
  batch.bytes = store->traits().max_batch_bytes + 1;
  CHECK(WriteNow(*store, batch).batch == Errc::kTooLarge);
}

}  // namespace
}  // namespace stout::test
