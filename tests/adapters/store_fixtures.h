#pragma once

#include <atomic>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>

#include "store_fixture.h"
#include "store_test_support.h"
#include "stout/adapters/faulty_store.h"
#include "stout/adapters/key_prefix_store.h"
#include "stout/adapters/memory_store.h"
#include "tests/support/type_list.h"
#ifdef STOUT_HAS_BLOWFISH
#include "stout/adapters/blowfish_store.h"
#include "tests/support/blowfish_server.h"
#endif
#ifdef STOUT_HAS_NODE
#include "stout/adapters/open_store.h"
#include "tests/support/datalet_node.h"
#endif
#ifdef STOUT_HAS_POSTGRES
#include "stout/adapters/postgres_store.h"
#include "tests/support/pgbouncer.h"
#include "tests/support/postgres_server.h"
#endif
#ifdef STOUT_HAS_REDIS
#include "stout/adapters/redis_store.h"
#include "tests/support/redis_server.h"
#endif
#ifdef STOUT_HAS_ROCKSDB
#include "stout/adapters/rocksdb_store.h"
#endif

namespace stout::test {

class Memory : public FixtureBase {
 public:
  Memory() { store_ = std::make_unique<MemoryStore>(executor()); }
};

class SlowMemory : public FixtureBase {
 public:
  SlowMemory() {
    using namespace std::chrono_literals;
    store_ = std::make_unique<MemoryStore>(
        executor(),
        MemoryOptions{.latency = {.latency = 50us, .per_item = 1us, .workers = 4, .jitter = 0.5}});
  }
  [[nodiscard]] bool ReportsQueue() const override { return true; }
};

// FaultyStore without faults must be invisible.
class FaultlessMemory : public FixtureBase {
 public:
  FaultlessMemory() {
    store_ = std::make_unique<FaultyStore>(executor(), std::make_unique<MemoryStore>(executor()));
  }
};

// A part of a store that has other keys, too.
class PartOfMemory : public FixtureBase {
 public:
  PartOfMemory() {
    const auto whole = std::make_shared<MemoryStore>(executor());
    for (const char* key : {"", "part", "part!!", "parts", "z"}) {
      const WriteBatch batch = Batch(1, {Put(key, "other", 1)});
      (void)whole->AsyncWrite(batch, boost::asio::use_future).get();
    }
    store_ = std::make_unique<KeyPrefixStore>(whole, "part!?");
  }
};

// Loses its data by script.
class ForgetfulMemory : public FixtureBase {
 public:
  ForgetfulMemory() { Reopen(); }
  void Reopen() override {
    store_ = std::make_unique<FaultyStore>(executor(), std::make_unique<MemoryStore>(executor()));
  }
  void LoseData() override { static_cast<FaultyStore&>(*store_).ScriptRead(Fault::kLost); }
};

#ifdef STOUT_HAS_ROCKSDB
class RocksDb : public FixtureBase {
 public:
  RocksDb() { Reopen(); }
  ~RocksDb() override { Close(); }
  [[nodiscard]] bool ReportsQueue() const override { return true; }
  void Reopen() override {
    Close();
    Diagnostics why;
    auto store = RocksDbStore::Open({.path = directory_.path()}, &why);
    if (!store) throw std::runtime_error(why.message);
    store_ = *std::move(store);
  }

 private:
  TempDirectory directory_;
};

#endif

#ifdef STOUT_HAS_POSTGRES
class Postgres : public FixtureBase {
 public:
  [[nodiscard]] bool FinishesAtClose() const override { return false; }

  Postgres() { Reopen(); }
  ~Postgres() override { Close(); }
  void Reopen() override {
    Close();
    Diagnostics why;
    auto store = PostgresStore::Open({.connection = server().Connection(port_), .table = table_},
                                     executor(), &why);
    if (!store) throw std::runtime_error(why.message);
    store_ = *std::move(store);
  }

 protected:
  // One for all, each of which has a table of its own: a start takes longer than most tests.
  static PostgresServer& server() {
    static PostgresServer server;
    return server;
  }
  static std::string FreshTable() {
    static std::atomic<int> next{0};
    return "store_" + std::to_string(++next);
  }

  const std::string table_ = FreshTable();
  int port_ = server().port();
};

// Each transaction in another session.
class PooledPostgres : public Postgres {
 public:
  PooledPostgres() {
    port_ = pooler_.port();
    Reopen();
  }
  ~PooledPostgres() override { Close(); }

 private:
  Pgbouncer pooler_{server().port()};
};
#endif

#ifdef STOUT_HAS_REDIS
template <RedisMode mode>
class RedisIn : public FixtureBase {
 public:
  [[nodiscard]] bool FinishesAtClose() const override { return false; }

  // `settings`: as of RedisServer.
  explicit RedisIn(std::vector<std::string> settings = {}, bool detect_loss = false)
      : detect_loss_(detect_loss), server_(std::move(settings)) {
    Reopen();
  }
  ~RedisIn() override { Close(); }
  void Reopen() override {
    Close();
    RedisStore::Options options;
    options.mode = mode;
    options.detect_loss = detect_loss_;
    options.address.port = static_cast<std::uint16_t>(server_.port());
    Diagnostics why;
    auto store = RedisStore::Open(options, executor(), &why);
    if (!store) throw std::runtime_error(why.message);
    store_ = *std::move(store);
  }
  // The server ends and comes back.
  void Restart() override {
    server_.Kill();
    server_.Start();
  }

 private:
  const bool detect_loss_;
  RedisServer server_;
};

using Redis = RedisIn<RedisMode::kVersioned>;
using PlainRedis = RedisIn<RedisMode::kPlain>;

class KeepingRedis : public Redis {
 public:
  KeepingRedis() : Redis({}, true) {}
};
class VolatileRedis : public Redis {
 public:
  VolatileRedis() : Redis({"--appendonly", "no"}, true) {}
  void LoseData() override { Restart(); }
};
// The server has everything when it comes back, but need not have.
class EverysecRedis : public Redis {
 public:
  EverysecRedis() : Redis({"--appendfsync", "everysec"}, true) {}
  void LoseData() override { Restart(); }
};
#endif

#ifdef STOUT_HAS_BLOWFISH
class Blowfish : public FixtureBase {
 public:
  [[nodiscard]] bool FinishesAtClose() const override { return false; }
  [[nodiscard]] bool ReportsQueue() const override { return true; }

  explicit Blowfish(bool detect_loss = false) : detect_loss_(detect_loss) { Reopen(); }
  ~Blowfish() override { Close(); }
  void Reopen() override {
    Close();
    BlowfishStore::Options options;
    options.detect_loss = detect_loss_;
    options.port = static_cast<std::uint16_t>(server_.port());
    Diagnostics why;
    auto store = BlowfishStore::Open(options, executor(), &why);
    if (!store) throw std::runtime_error(why.message);
    store_ = *std::move(store);
  }

 protected:
  const bool detect_loss_;
  BlowfishServer server_;
};

class WatchedBlowfish : public Blowfish {
 public:
  WatchedBlowfish() : Blowfish(true) {}
  void Restart() override {
    server_.Kill();
    server_.Start();
  }
  void LoseData() override {
    server_.Kill();
    server_.RemoveData();
    server_.Start();
  }
};
#endif

#ifdef STOUT_HAS_NODE
// The datalet of a node, by its URL. `Datalet` opens and closes it, and keeps its data meanwhile if
// it is durable.
template <typename Datalet>
class ServedBy : public FixtureBase {
 public:
  [[nodiscard]] bool FinishesAtClose() const override { return false; }
  [[nodiscard]] bool ReportsQueue() const override { return datalet_.ReportsQueue(); }

  ServedBy() { Reopen(); }
  ~ServedBy() override {
    Close();
    Stop();
  }
  void Reopen() override {
    Close();
    Restart();
    Diagnostics why;
    auto store = OpenStore(node_->Url(), executor(), &why);
    if (!store) throw std::runtime_error(why.message);
    store_ = *std::move(store);
  }
  // The node ends, and comes back at the same port.
  void Restart() override {
    const int port = node_ ? node_->port() : 0;
    Stop();
    datalet_.Reopen();
    node_ = std::make_unique<DataletNode>(&datalet_.store(), port);
  }
  void LoseData() override { Restart(); }

 private:
  void Stop() {
    if (node_) node_->Stop();
    datalet_.Close();
    node_.reset();
  }

  Datalet datalet_;
  std::unique_ptr<DataletNode> node_;
};

class RestartedMemory : public FixtureBase {
 public:
  void Reopen() override { store_ = std::make_unique<MemoryStore>(executor()); }
};

using ServedMemory = ServedBy<RestartedMemory>;
#ifdef STOUT_HAS_ROCKSDB
using ServedRocksDb = ServedBy<RocksDb>;
#endif
#endif

// For TEMPLATE_TEST_CASE, which names its cases after the types.
#ifdef STOUT_HAS_NODE
#define STOUT_TEST_SERVED_MEMORY , ServedMemory
#else
#define STOUT_TEST_SERVED_MEMORY
#endif
#if defined(STOUT_HAS_NODE) && defined(STOUT_HAS_ROCKSDB)
#define STOUT_TEST_SERVED_ROCKSDB , ServedRocksDb
#else
#define STOUT_TEST_SERVED_ROCKSDB
#endif
#ifdef STOUT_HAS_ROCKSDB
#define STOUT_TEST_ROCKSDB , RocksDb
#else
#define STOUT_TEST_ROCKSDB
#endif
#if defined(STOUT_HAS_POSTGRES) && !defined(STOUT_ASAN) && !defined(STOUT_TSAN)
#define STOUT_TEST_POSTGRES , Postgres, PooledPostgres
#elif defined(STOUT_HAS_POSTGRES)
#define STOUT_TEST_POSTGRES , Postgres
#else
#define STOUT_TEST_POSTGRES
#endif
#ifdef STOUT_HAS_REDIS
#define STOUT_TEST_REDIS , Redis
#define STOUT_TEST_PLAIN_REDIS , PlainRedis
#define STOUT_TEST_KEEPING_REDIS , KeepingRedis
#define STOUT_TEST_LOSING_REDIS , VolatileRedis, EverysecRedis
#else
#define STOUT_TEST_REDIS
#define STOUT_TEST_PLAIN_REDIS
#define STOUT_TEST_KEEPING_REDIS
#define STOUT_TEST_LOSING_REDIS
#endif
#ifdef STOUT_HAS_BLOWFISH
#define STOUT_TEST_BLOWFISH , Blowfish
#define STOUT_TEST_WATCHED_BLOWFISH , WatchedBlowfish
#else
#define STOUT_TEST_BLOWFISH
#define STOUT_TEST_WATCHED_BLOWFISH
#endif
#define STOUT_TEST_VOLATILE_STORES Memory, SlowMemory, FaultlessMemory, PartOfMemory
#define STOUT_TEST_COMPARING_STORES                                                  \
  STOUT_TEST_VOLATILE_STORES STOUT_TEST_ROCKSDB STOUT_TEST_POSTGRES STOUT_TEST_REDIS \
      STOUT_TEST_BLOWFISH STOUT_TEST_SERVED_MEMORY STOUT_TEST_SERVED_ROCKSDB
#define STOUT_TEST_ALL_STORES STOUT_TEST_COMPARING_STORES STOUT_TEST_PLAIN_REDIS
#define STOUT_TEST_FENCING_STORES STOUT_TEST_COMPARING_STORES
#if defined(STOUT_HAS_ROCKSDB) || defined(STOUT_HAS_POSTGRES) || defined(STOUT_HAS_REDIS) || \
    defined(STOUT_HAS_BLOWFISH)
#define STOUT_TEST_HAS_DURABLE_STORES
#define STOUT_TEST_DURABLE_STORES                                               \
  STOUT_TEST_TYPES(void STOUT_TEST_ROCKSDB STOUT_TEST_POSTGRES STOUT_TEST_REDIS \
                       STOUT_TEST_PLAIN_REDIS STOUT_TEST_BLOWFISH STOUT_TEST_SERVED_ROCKSDB)
#endif
// Stores that detect a loss: those that lost writes, and those that came back with all of them.
#define STOUT_TEST_LOSING_STORES \
  ForgetfulMemory STOUT_TEST_LOSING_REDIS STOUT_TEST_WATCHED_BLOWFISH STOUT_TEST_SERVED_MEMORY
#if defined(STOUT_HAS_REDIS) || defined(STOUT_HAS_BLOWFISH)
#define STOUT_TEST_KEEPING_STORES \
  STOUT_TEST_TYPES(               \
      void STOUT_TEST_KEEPING_REDIS STOUT_TEST_WATCHED_BLOWFISH STOUT_TEST_SERVED_ROCKSDB)
#endif

}  // namespace stout::test
