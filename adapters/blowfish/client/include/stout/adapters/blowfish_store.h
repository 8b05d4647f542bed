#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "stout/adapters/pending_calls.h"
#include "stout/adapters/store_url.h"
#include "stout/core/types.h"
#include "stout/error.h"
#include "stout/store.h"

namespace stout::resp {
class TlsLayer;
}  // namespace stout::resp

namespace stout {

/// A store on a blowfish-server, which keeps states compressed, or on a stout-node, which serves
/// its datalet to the other nodes by the same commands.
///
///     blowfish://:secret@shards.example:6480?connections=2
///     stout://:secret@node1.example:7001
///
/// Each shard of the server is a lane: PartitionOf(key) is XXH3_64bits(key) modulo the number of
/// shards, as in the server. Each lane has connections of its own, so a slow shard delays no other.
/// A batch of one shard is atomic. A batch of several shards, which no lane sends, is split and is
/// atomic in each. docs/STORES.md describes the set-up of a server.
///
/// The store asks for the number of shards when it opens and whenever it connects. A server that
/// comes back with another number is not written to. Calls are kTransient, and the log has the
/// reason, until the right server is back or the application has been restarted. With
/// Options::detect_loss, a server that comes back with other data makes every call kLost. So does a
/// node whose datalet is not durable and that was started again. A node has one shard.
///
/// Owner: the executor's context must outlive the store, and must run: between calls an io_context
///   may have no work. Calls without an answer when the store is destroyed fail: a batch with
///   kUnknown, any other call with kTransient.
/// Threads: any; all I/O is on the executor, without blocking. Open() blocks. Handlers run on the
///   executor, in a call that is refused at once, or in the destructor.
/// Errors: kTransient while there is no connection, and if the server answers with an error and so
///   did nothing. kUnknown if the connection is lost, or silent, after a batch was sent, and if its
///   answer is malformed. kTooLarge beyond the limits of traits(), which are the server's, and for
///   an item whose key or value exceeds the server's --max-value; the first is logged. kCorrupt
///   for keys of a shard that the server could not open, and while there is one for epochs, fences,
///   scans and searches: nothing was done, and the log names the damaged file. Otherwise the
///   server's outcome of a batch, an item or a call, which for a node is its datalet's.
/// Paper: BlowFish (NSDI'16), which the server implements.
class BlowfishStore final : public Store {
 public:
  struct Options {
    // --- Behaviour ---------------------------------------------------------------------------

    bool is_node = false;  ///< The server is a stout-node, not a blowfish-server.
    std::string host = "127.0.0.1";
    std::uint16_t port = 6480;
    std::string user{};      ///< Empty: the default user. A user needs a password.
    std::string password{};  ///< Empty: AUTH is not sent.
    /// After this time without an answer the connection is closed; the commands that were sent may
    /// still happen. > 0
    Duration timeout = std::chrono::seconds(10);
    /// Time for a new connection: name, connect, AUTH, STOUT.SHARDS. > 0
    Duration connect_timeout = std::chrono::seconds(5);
    /// If the server comes back with other data, every call is kLost.
    bool detect_loss = false;
    /// Makes TLS over a socket that is connected. Runs on the executor, and in Open(). Empty: the
    /// connections are not encrypted.
    std::function<std::unique_ptr<resp::TlsLayer>(
        boost::asio::generic::stream_protocol::socket& socket)>
        make_tls{};

    // --- Performance -------------------------------------------------------------------------

    /// Connections to a shard that write, each one round trip at a time, opened when needed.
    /// 1..1000
    std::size_t connections = 2;
    /// Connections to a shard that read, of their own: a large batch holds up no reads. As many to
    /// the server serve searches. 1..1000
    std::size_t read_connections = 2;
    /// Writes, or reads, of a shard that wait or run, beyond which one fails with kTransient at
    /// once. The same holds for all searches together. >= 1
    std::size_t max_queue = 4096;
  };

  /// Connects and asks for the shards. Fails with kBadUrl (also: wrong password, no such server)
  /// and kTransient (not reachable now, not ready).
  [[nodiscard]] static Result<std::unique_ptr<BlowfishStore>> Open(
      const Options& options, const boost::asio::any_io_executor& executor,
      Diagnostics* diagnostics);
  ~BlowfishStore() override;

  static constexpr std::string_view kUrlSyntax =
      "blowfish://[[USER]:PASSWORD@]HOST[:PORT][?connections=2][&read_connections=2][&timeout=10s]"
      "[&connect_timeout=5s][&detect_loss=false][&max_queue=4096]";
  static constexpr std::string_view kNodeUrlSyntax =
      "stout://[[USER]:PASSWORD@]HOST[:PORT][?connections=2][&read_connections=2][&timeout=10s]"
      "[&connect_timeout=5s][&detect_loss=true][&max_queue=4096]";
  /// Reads either kind of URL. Fails with kBadUrl.
  [[nodiscard]] static Result<Options> ReadUrl(const StoreUrl& url, Diagnostics* diagnostics);
  [[nodiscard]] static Result<std::unique_ptr<Store>> OpenUrl(
      const StoreUrl& url, const boost::asio::any_io_executor& executor, Diagnostics* diagnostics);

  [[nodiscard]] const StoreTraits& traits() const override { return traits_; }
  [[nodiscard]] LaneId PartitionOf(KeyView key) const override;
  void Write(const WriteBatch& batch, WriteHandler handler) override;
  void Read(const ReadBatch& batch, ReadHandler handler) override;
  void NewEpoch(EpochHandler handler) override;
  void Fence(const Scope& scope, Epoch epoch, FenceHandler handler) override;
  void Scan(const ScanRequest& request, ScanHandler handler) override;
  /// The store of a node's datalet refuses it.
  void Search(const SearchRequest& request, SearchHandler handler) override;
  /// A node is told for which of these tenants it reads.
  void Obey(std::shared_ptr<const Tenants> tenants) override;

 private:
  class Engine;

  BlowfishStore(StoreTraits traits, std::size_t max_value, std::shared_ptr<const LossFlag> lost,
                std::unique_ptr<Engine> engine);

  const StoreTraits traits_;
  const std::size_t max_value_;  // the server's --max-value
  std::atomic<bool> told_of_large_ = false;
  PendingCalls pending_;
  const std::unique_ptr<Engine> engine_;
};

}  // namespace stout
