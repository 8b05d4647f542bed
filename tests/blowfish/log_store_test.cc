#include "blowfish/log/log_store.h"

#include <cerrno>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "log_store_fixture.h"
#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"

namespace stout::blowfish {
namespace {

using test::Batch;
using test::DeleteItem;
using test::kNowMs;
using test::PutItem;
using test::SimDisk;
using Fixture = test::LogStoreFixture;

const WriteResult kDone;

TEST_CASE("the newest stamp is that of a write under way, of the table, or older", "[log]") {
  Fixture f;
  f.older = Stamp{1, 1};
  CHECK(f.store->NewestStamp("k") == Stamp{1, 1});
  CHECK_FALSE(f.store->IsPending("k"));
  f.Write(Batch(1, {PutItem("k", 2, "v")}));
  CHECK(f.store->NewestStamp("k") == Stamp{1, 2});
  CHECK(f.store->IsPending("k"));
  CHECK_FALSE(f.store->IsPending("other"));
  f.Commit();
  CHECK(f.store->NewestStamp("k") == Stamp{1, 2});
  CHECK_FALSE(f.store->IsPending("k"));
  f.disk.errors.write = EIO;
  f.Write(Batch(1, {DeleteItem("k", 3)}));
  CHECK(f.store->NewestStamp("k") == Stamp{1, 3});
  f.Commit();
  CHECK(f.store->NewestStamp("k") == Stamp{1, 2});
  CHECK_FALSE(f.store->IsPending("k"));
}

TEST_CASE("a write is seen and answered once it is durable, not before", "[log]") {
  Fixture f;
  const auto written = f.Write(Batch(1, {PutItem("ann", 1, "Ann|rome"), DeleteItem("bob", 2)}));
  CHECK(f.ValueOf("ann") == "nothing");
  f.store->CommitWaiting();
  CHECK(f.ValueOf("ann") == "nothing");
  CHECK_FALSE(written->has_value());
  f.store->Poll();
  CHECK(*written == kDone);
  CHECK(f.ValueOf("ann") == "Ann|rome");
  CHECK(f.ValueOf("bob") == "deleted");
  f.Open();
  CHECK(f.ValueOf("ann") == "Ann|rome");
  CHECK(f.store->table().Find("bob")->deleted_at_ms == kNowMs);
}

TEST_CASE("stamps are compared with what is durable", "[log]") {
  Fixture f;
  (void)f.Write(Batch(2, {PutItem("k", 5, "v5")}));
  f.Commit();
  CHECK(*f.Write(Batch(2, {PutItem("k", 5, "again")})) == kDone);
  CHECK(*f.Write(Batch(2, {PutItem("k", 4, "late")})) == kDone);
  CHECK(*f.Write(Batch(1, {PutItem("k", 9, "ghost")})) ==
        WriteResult{Errc::kOk, {{0, Errc::kFenced}}});
  CHECK_FALSE(f.store->CommitWaiting());
  const auto newer = f.Write(Batch(3, {DeleteItem("k", 1)}));
  f.Commit();
  CHECK(*newer == kDone);
  CHECK(f.ValueOf("k") == "deleted");
}

TEST_CASE("stamps are compared with those of older stores", "[log]") {
  Fixture f;
  f.older = Stamp{2, 5};
  const auto again = f.Write(Batch(2, {PutItem("k", 5, "again")}));
  f.Commit();  // The epoch, which this log has not seen.
  CHECK(*again == kDone);
  CHECK(f.ValueOf("k") == "nothing");
  CHECK(*f.Write(Batch(1, {PutItem("k", 9, "ghost")})) ==
        WriteResult{Errc::kOk, {{0, Errc::kFenced}}});
  (void)f.Write(Batch(2, {PutItem("k", 6, "v6")}));
  f.Commit();
  CHECK(f.ValueOf("k") == "v6");
}

TEST_CASE("a write that loses to a write under way is answered with it", "[log]") {
  Fixture f;
  const auto first = f.Write(Batch(2, {PutItem("k", 5, "v5")}));
  const auto repeated = f.Write(Batch(2, {PutItem("j", 1, "j1"), PutItem("k", 5, "v5")}));
  const auto late = f.Write(Batch(2, {PutItem("k", 4, "v4")}));
  const auto ghost = f.Write(Batch(1, {PutItem("k", 9, "ghost")}));
  CHECK_FALSE((*first || *repeated || *late || *ghost));
  SECTION("which is done") {
    f.Commit();
    CHECK(*first == kDone);
    CHECK(*repeated == kDone);
    CHECK(*late == kDone);
    CHECK(*ghost == WriteResult{Errc::kOk, {{0, Errc::kFenced}}});
    CHECK(f.ValueOf("k") == "v5");
  }
  SECTION("which has failed") {
    f.disk.errors = {.create = ENOSPC, .write = ENOSPC};
    f.Commit();
    CHECK(*first == WriteResult{Errc::kTransient, {}});
    CHECK(*repeated == WriteResult{Errc::kTransient, {{1, Errc::kTransient}}});
    CHECK(*late == WriteResult{Errc::kOk, {{0, Errc::kTransient}}});
    CHECK(*ghost == WriteResult{Errc::kOk, {{0, Errc::kTransient}}});
    CHECK(f.ValueOf("k") == "nothing");
    f.disk.errors = {};
    const auto again = f.Write(Batch(2, {PutItem("k", 4, "v4")}));
    f.Commit();
    CHECK(*again == kDone);
    CHECK(f.ValueOf("k") == "v4");
  }
}

TEST_CASE("the newest write under way counts, also once an older one is done", "[log]") {
  Fixture f;
  (void)f.Write(Batch(1, {PutItem("k", 1, "former")}));
  f.store->CommitWaiting();
  (void)f.Write(Batch(2, {PutItem("k", 1, "owner")}));
  f.store->Poll();
  CHECK(f.ValueOf("k") == "former");
  const auto ghost = f.Write(Batch(1, {PutItem("k", 9, "ghost")}));
  f.Commit();
  CHECK(*ghost == WriteResult{Errc::kOk, {{0, Errc::kFenced}}});
  CHECK(f.ValueOf("k") == "owner");
}

TEST_CASE("a newer write that fails leaves the one before it in force", "[log]") {
  Fixture f;
  const auto first = f.Write(Batch(1, {PutItem("k", 1, "v1")}));
  f.store->CommitWaiting();
  const auto second = f.Write(Batch(1, {PutItem("k", 2, "v2")}));
  f.disk.errors = {.create = ENOSPC, .write = ENOSPC};
  f.Commit();
  CHECK(*first == kDone);
  CHECK(*second == WriteResult{Errc::kTransient, {}});
  CHECK(f.ValueOf("k") == "v1");
  CHECK(*f.Write(Batch(1, {PutItem("k", 1, "v1")})) == kDone);
}

TEST_CASE("a write whose fate is open is gone once another is acknowledged", "[log]") {
  Fixture f;
  CHECK(f.Fence("s", 1) == Errc::kOk);
  f.disk.errors.sync = EIO;
  const auto open = f.Write(Batch(1, {PutItem("k", 1, "open")}));
  f.Commit();
  CHECK(*open == WriteResult{Errc::kUnknown, {}});
  CHECK(f.ValueOf("k") == "nothing");
  const auto meanwhile = f.Write(Batch(1, {PutItem("j", 1, "v")}));
  f.Commit();
  CHECK(*meanwhile == WriteResult{Errc::kTransient, {}});
  f.disk.errors = {};
  CHECK(f.Fence("s", 2) == Errc::kOk);
  f.Open();
  CHECK(f.ValueOf("k") == "nothing");
}

TEST_CASE("epochs grow beyond all that were given out or seen, over restarts too", "[log]") {
  Fixture f;
  CHECK(f.NewEpoch() == 1);
  (void)f.Write(Batch(7, {PutItem("k", 1, "v")}));
  CHECK(f.NewEpoch() == 8);
  CHECK(f.Fence("s", 20) == Errc::kOk);
  f.Open();
  CHECK(f.NewEpoch() == 21);
  const auto frozen = f.Freeze();
  REQUIRE(frozen);
  f.options.first_sequence = frozen->through + 1;
  f.Open();
  CHECK(f.NewEpoch() == 22);
  f.disk.errors = {.create = EIO, .write = EIO};
  CHECK_FALSE(f.NewEpoch());
  f.disk.errors = {};
  (void)f.Write(Batch(~Epoch{0}, {PutItem("k", 1, "v")}));
  CHECK_FALSE(f.NewEpoch());
}

TEST_CASE("a fence shuts older epochs out of its scope", "[log]") {
  Fixture f;
  const auto before = f.Write(Batch(1, {PutItem("k", 1, "before")}, "s"));
  ErrorCode fenced = Errc::kUnknown;
  f.store->Fence("s", 2, [&](ErrorCode error) { fenced = error; });
  CHECK(*f.Write(Batch(1, {PutItem("j", 1, "during")}, "s")) == WriteResult{Errc::kTransient, {}});
  f.store->Fence("s", 1, [](ErrorCode error) { CHECK(error == Errc::kTransient); });
  f.Commit();
  CHECK(*before == kDone);
  CHECK_FALSE(fenced);
  CHECK(f.ValueOf("k") == "before");
  for (int life = 0; life < 3; ++life) {
    CHECK(*f.Write(Batch(1, {PutItem("j", 1, "after")}, "s")) == WriteResult{Errc::kFenced, {}});
    CHECK(f.Fence("s", 1) == Errc::kFenced);
    CHECK(f.Fence("s", 2) == Errc::kOk);
    if (life == 1) {
      const auto frozen = f.Freeze();
      REQUIRE(frozen);
      f.options.first_sequence = frozen->through + 1;
      REQUIRE_FALSE(RemoveLogs(f.disk, frozen->through));
    }
    f.Open();
  }
  const auto other = f.Write(Batch(1, {PutItem("other", 1, "v")}, "t"));
  const auto owner = f.Write(Batch(2, {PutItem("k", 1, "owner")}, "s"));
  f.Commit();
  CHECK(*other == kDone);
  CHECK(*owner == kDone);
}

TEST_CASE("a fence that fails fences nothing", "[log]") {
  Fixture f;
  f.disk.errors = {.create = ENOSPC, .write = ENOSPC};
  CHECK(f.Fence("s", 2) == Errc::kTransient);
  f.disk.errors = {};
  const auto written = f.Write(Batch(1, {PutItem("k", 1, "v")}, "s"));
  f.Commit();
  CHECK(*written == kDone);
}

TEST_CASE("a frozen table goes on answering, and the log begins anew", "[log]") {
  Fixture f;
  (void)f.Write(Batch(1, {PutItem("b", 1, "Bob|oslo"), PutItem("a", 1, "Ann|rome")}));
  f.Commit();
  CHECK(f.store->log_bytes() > 0);
  const std::optional<FrozenLog> frozen = f.Freeze();
  REQUIRE(frozen);
  CHECK(f.store->log_bytes() == 0);
  CHECK(f.store->table().size() == 0);
  f.older = Stamp{1, 1};  // The frozen table is an older store now.
  (void)f.Write(Batch(1, {PutItem("a", 2, "Ann|bern"), PutItem("b", 1, "again")}));
  f.Commit();
  CHECK(f.ValueOf("a") == "Ann|bern");
  CHECK(f.ValueOf("b") == "nothing");
  const auto in_order = frozen->table->InKeyOrder();
  REQUIRE(in_order.size() == 2);
  CHECK(in_order[0]->record == Record{"a", {1, 1}, "Ann|rome"});
  CHECK(in_order[1]->record == Record{"b", {1, 1}, "Bob|oslo"});

  SECTION("a start without a compaction reads everything") {
    f.Open();
    CHECK(f.ValueOf("a") == "Ann|bern");
    CHECK(f.ValueOf("b") == "Bob|oslo");
  }
  SECTION("a start after one reads what came later") {
    f.options.first_sequence = frozen->through + 1;
    f.Open();
    CHECK(f.ValueOf("a") == "Ann|bern");
    CHECK(f.ValueOf("b") == "nothing");
  }
}

TEST_CASE("a freeze that fails changes nothing", "[log]") {
  Fixture f;
  (void)f.Write(Batch(1, {PutItem("a", 1, "v")}));
  f.Commit();
  const LogTable* const table = &f.store->table();
  f.disk.errors = {.create = ENOSPC, .write = ENOSPC};
  CHECK_FALSE(f.Freeze());
  CHECK(&f.store->table() == table);
  f.disk.errors = {};
  f.store->Freeze([](ErrorCode error, FrozenLog) { CHECK_FALSE(error); });
  f.store->Freeze([](ErrorCode error, FrozenLog) { CHECK(error == Errc::kTransient); });
  f.Commit();
  f.Commit();
  CHECK(f.Freeze());
}

TEST_CASE("bounds push back, and later writes succeed", "[log]") {
  Fixture f;
  f.options.max_waiting_bytes = 1000;
  f.options.max_batch_bytes = 1000;
  f.options.max_table_bytes = 300'000;
  f.Open();
  CHECK(*f.Write(Batch(1, {PutItem("k", 1, std::string(1000, 'v'))})) ==
        WriteResult{Errc::kTooLarge, {}});
  const auto first = f.Write(Batch(1, {PutItem("k", 1, std::string(800, 'v'))}));
  CHECK(f.store->waiting_bytes() > 800);
  CHECK(*f.Write(Batch(1, {PutItem("j", 1, std::string(800, 'v'))})) ==
        WriteResult{Errc::kTransient, {}});
  f.Commit();
  CHECK(*first == kDone);
  CHECK(f.store->waiting_bytes() == 0);
  Errc errc = Errc::kOk;
  int writes = 0;
  for (; errc == Errc::kOk && writes < 1000; ++writes) {
    const auto written =
        f.Write(Batch(1, {PutItem("k" + std::to_string(writes), 1, std::string(800, 'v'))}));
    f.Commit();
    errc = (*written)->batch;
  }
  CHECK(errc == Errc::kTransient);
  CHECK(writes > 200);
  CHECK(f.store->table().bytes() < 400'000);
  REQUIRE(f.Freeze());
  const auto after = f.Write(Batch(1, {PutItem("k", 2, "v")}));
  f.Commit();
  CHECK(*after == kDone);
}

TEST_CASE("a batch that is larger than all that may wait has room behind little", "[log]") {
  Fixture f;
  f.options.max_waiting_bytes = 1000;
  f.Open();
  const auto write = [&](const std::string& key, std::size_t bytes) {
    return f.Write(Batch(1, {PutItem(key, 1, std::string(bytes, 'v'))}));
  };
  const std::size_t large = MaxOperationBytes(1, 5000);
  const auto little = write("a", 300);
  CHECK_FALSE(f.store->WillHaveRoom(large));
  const auto first = write("b", 5000);
  CHECK(f.store->WillHaveRoom(large));
  CHECK(*write("c", 5000) == WriteResult{Errc::kTransient, {}});
  CHECK(*write("d", 1) == WriteResult{Errc::kTransient, {}});
  f.Commit();
  CHECK(*little == kDone);
  CHECK(*first == kDone);
  const auto middle = write("e", 600);
  CHECK(*write("f", 5000) == WriteResult{Errc::kTransient, {}});
  CHECK(f.store->WillHaveRoom(large));
  f.Commit();
  CHECK(*middle == kDone);
  CHECK(f.store->table().Find("b")->record.value == std::string(5000, 'v'));
}

TEST_CASE("options out of range are refused", "[log]") {
  SimDisk disk(1);
  const auto why = [&](const LogStoreOptions& options) {
    Diagnostics diagnostics;
    CHECK(LogStore::Open(disk, options, nullptr, &diagnostics).error() == Errc::kBadOptions);
    return diagnostics.message;
  };
  CHECK(why({.max_waiting_bytes = 0}) == "max_waiting_bytes must be in 1..1073741824");
  CHECK(why({.max_batch_bytes = (std::size_t{1} << 30) + 1}) ==
        "max_batch_bytes must be in 1..1073741824");
  CHECK(why({.max_table_bytes = (std::size_t{32} << 30) + 1}) ==
        "max_table_bytes must be in 1..34359738368");
}

TEST_CASE("a start says what it read, and refuses a damaged log", "[log]") {
  Fixture f;
  (void)f.Write(Batch(1, {PutItem("a", 1, "v"), PutItem("b", 1, "v")}));
  f.Commit();
  f.store.reset();
  RecoveryReport report;
  f.store = LogStore::Open(f.disk, f.options, &report).value();
  CHECK(report.files == 1);
  CHECK(report.groups == 2);  // With the witness of the close.
  CHECK(report.operations == 3);
  CHECK(report.cut_bytes == 0);
  f.store.reset();
  std::string bytes = f.disk.Contents().at(LogFileName(1));
  bytes[kLogHeaderBytes + 30] ^= 1;
  f.disk.SetContent(LogFileName(1), bytes);
  Diagnostics diagnostics;
  CHECK(LogStore::Open(f.disk, f.options, nullptr, &diagnostics).error() == Errc::kCorrupt);
  CHECK(diagnostics.message.find("byte 56: damaged") != std::string::npos);
}

TEST_CASE("a store that goes answers all that is under way", "[log]") {
  Fixture f;
  const auto written = f.Write(Batch(1, {PutItem("a", 1, "v")}));
  int answers = 0;
  f.store->Freeze([&](ErrorCode error, FrozenLog) {
    CHECK(error == Errc::kTransient);
    ++answers;
  });
  f.store->NewEpoch([&](ErrorCode error, Epoch) {
    CHECK_FALSE(error);
    ++answers;
  });
  f.store.reset();
  CHECK(*written == kDone);
  CHECK(answers == 2);
}

TEST_CASE("a store with its own thread, in a real folder", "[log]") {
  const stout::test::TempDirectory folder;
  const auto directory = OpenLogDirectory(folder.path()).value();
  std::mutex mutex;
  std::condition_variable changed;
  bool woken = false;
  LogStoreOptions options;
  options.wake = [&] {
    const std::lock_guard lock(mutex);
    woken = true;
    changed.notify_one();
  };
  constexpr Version kWrites = 300;
  {
    const auto store = LogStore::Open(*directory, options).value();
    Version sent = 0;
    Version done = 0;
    bool frozen = false;
    while (done < kWrites) {
      // Some are always under way, so that a group has several.
      while (sent < kWrites && sent < done + 10) {
        ++sent;
        store->Write(Batch(1, {PutItem("k" + std::to_string(sent % 7), sent, "v")}), kNowMs,
                     [&](WriteResult result) {
                       CHECK(result == kDone);
                       ++done;
                     });
      }
      if (done > kWrites / 2 && !frozen) {
        frozen = true;
        store->Freeze([](ErrorCode error, FrozenLog log) {
          CHECK_FALSE(error);
          CHECK(log.table->size() == 7);
        });
      }
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return woken; });
      woken = false;
      lock.unlock();
      store->Poll();
    }
  }
  const auto store = LogStore::Open(*directory, options).value();
  CHECK(store->table().size() == 7);
  CHECK(store->table().Find("k" + std::to_string(kWrites % 7))->record.stamp == Stamp{1, kWrites});
}

}  // namespace
}  // namespace stout::blowfish
