#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "server/server.h"
#include "stout/store.h"

namespace stout::docstore {

/// Holds back writes while it is shut: what a server does before a state is durable shows.
class GateStore final : public Store {
 public:
  explicit GateStore(Store& store) : store_(store) {}

  void Shut();
  /// Passes what was held, and what comes.
  void Open();
  /// Batches that are held.
  [[nodiscard]] std::size_t held() const;
  [[nodiscard]] const StoreTraits& traits() const override { return store_.traits(); }
  void Write(const WriteBatch& batch, WriteHandler handler) override;
  void Read(const ReadBatch& batch, ReadHandler handler) override {
    store_.Read(batch, std::move(handler));
  }
  void NewEpoch(EpochHandler handler) override { store_.NewEpoch(std::move(handler)); }
  void Fence(const Scope& scope, Epoch epoch, FenceHandler handler) override {
    store_.Fence(scope, epoch, std::move(handler));
  }

 private:
  Store& store_;
  mutable std::mutex mutex_;
  bool shut_ = false;
  std::deque<std::pair<const WriteBatch*, WriteHandler>> held_;
};

/// An io_context with threads that run it. Declare it before the store: what a store has lost may
/// still refer to it.
class Runner {
 public:
  explicit Runner(int threads = 2);
  ~Runner() { Stop(); }

  void Stop();
  [[nodiscard]] boost::asio::io_context& context() { return context_; }

 private:
  boost::asio::io_context context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::vector<std::jthread> threads_;
};

/// A document service on a free port of this machine. It stops `runner` when it goes.
class TestServer {
 public:
  TestServer(Runner& runner, Store& store, const DocumentsOptions& documents = TwoShards(),
             const http::HttpOptions& http = {});
  ~TestServer();

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] Server& server() { return *server_; }

  /// As SIGTERM; answers how it ended.
  [[nodiscard]] ErrorCode Drain();

  [[nodiscard]] static DocumentsOptions TwoShards();

 private:
  Runner& runner_;
  std::unique_ptr<Server> server_;
  std::uint16_t port_ = 0;
};

struct Reply {
  int status = 0;
  std::map<std::string, std::string> fields;  ///< Names in lower case.
  std::string body;

  [[nodiscard]] std::string Field(const std::string& name) const {
    const auto field = fields.find(name);
    return field == fields.end() ? std::string() : field->second;
  }
};

using Fields = std::initializer_list<std::pair<std::string_view, std::string_view>>;

/// Bytes of a request with a body of known length.
[[nodiscard]] std::string Format(std::string_view method, std::string_view target,
                                 std::string_view body = {}, Fields fields = {});

/// A client that blocks, and can do all that clients should not.
class Client {
 public:
  explicit Client(std::uint16_t port);
  ~Client();

  void Send(std::string_view bytes);
  /// The next response; a status of 0 if the server has closed the connection instead.
  [[nodiscard]] Reply Receive(bool head = false);
  [[nodiscard]] Reply Do(std::string_view method, std::string_view target,
                         std::string_view body = {}, Fields fields = {});
  /// All bytes up to the end of the connection.
  [[nodiscard]] std::string ReceiveAll();
  /// Waits for the end of the connection; false if bytes come before it.
  [[nodiscard]] bool AtEnd();
  /// Whether nothing has come that was not received.
  [[nodiscard]] bool Silent();
  /// Sends no more, and goes on to read.
  void ShutdownSend();
  /// Ends the connection without waiting for anything: the server's reads and writes fail.
  void Reset();

 private:
  bool ReadSome();

  struct Socket;
  std::unique_ptr<Socket> socket_;
  std::string input_;
};

}  // namespace stout::docstore
