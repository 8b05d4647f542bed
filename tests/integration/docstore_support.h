#pragma once

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "program/runners.h"
#include "server/server.h"
#include "stout/adapters/memory_store.h"
#include "stout/forwarding_store.h"
#include "tests/support/http_client.h"

namespace stout::docstore {

/// Holds writes back while it is shut. Tests then see what a server does before a state is durable.
class GateStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  /// Holds all writes back, or only the batches with this key.
  void Shut(std::string key = {});
  /// Passes the held writes and all later ones.
  void Open();
  /// Returns the number of held batches.
  [[nodiscard]] std::size_t held() const;
  void Write(const WriteBatch& batch, WriteHandler handler) override;

 private:
  mutable std::mutex mutex_;
  bool shut_ = false;
  std::string key_;  // empty: all
  std::deque<std::pair<const WriteBatch*, WriteHandler>> held_;
};

/// An io_context with threads that run it. Declare it before the store, because calls that the
/// store dropped may still refer to the context.
class Runner {
 public:
  explicit Runner(int threads = 2)
      : context_(threads), runners_(context_, static_cast<std::size_t>(threads)) {}

  void Stop() { runners_.Stop(); }
  [[nodiscard]] boost::asio::io_context& context() { return context_; }

 private:
  boost::asio::io_context context_;
  program::Runners runners_;
};

/// A document server on a free port of this machine. Its destructor stops `runner`.
class TestServer {
 public:
  TestServer(Runner& runner, Store& store, const DocumentsOptions& documents = TwoShards(),
             const http::HttpOptions& http = {});
  ~TestServer();

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] Server& server() { return *server_; }

  /// Drains as after SIGTERM, and returns the outcome.
  [[nodiscard]] ErrorCode Drain();

  [[nodiscard]] static DocumentsOptions TwoShards();

 private:
  Runner& runner_;
  std::unique_ptr<Server> server_;
  std::uint16_t port_ = 0;
};

/// Options of a server with one shard.
inline DocumentsOptions OneShard() {
  DocumentsOptions options = TestServer::TwoShards();
  options.shards = 1;
  return options;
}

/// A document server over a store that the test can shut.
struct GatedService {
  explicit GatedService(const DocumentsOptions& documents = OneShard(), int threads = 2)
      : runner(threads),
        memory(runner.context().get_executor()),
        store(memory),
        server(runner, store, documents) {}
  ~GatedService() { store.Open(); }

  Runner runner;
  MemoryStore memory;
  GateStore store;
  TestServer server;
};

/// Waits until this many answers wait for the store.
void AwaitReplies(const TestServer& server, int count);

using Client = test::HttpClient;
using Reply = test::HttpReply;
using test::Format;

}  // namespace stout::docstore
