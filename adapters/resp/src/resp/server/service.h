#pragma once

#include <boost/asio/ssl/context.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "resp/server/batch.h"
#include "resp/server/command_parser.h"
#include "resp/server/command_stats.h"
#include "resp/server/command_table.h"
#include "resp/server/session.h"
#include "resp/server/tls.h"
#include "stout/clock.h"

namespace stout::resp {

struct ConnectionLimits {
  CommandLimits commands;
  std::size_t max_clients = 10'000;
  /// Connections beyond max_clients. Their first command, except AUTH, must be one that only other
  /// servers send: see Service::IsOfServers.
  std::size_t max_servers = 0;
  /// A client that takes none of its replies for this time is disconnected, and one whose TLS
  /// handshake takes longer.
  Duration write_timeout = std::chrono::seconds(30);
  /// A client that takes fewer bytes per second on average is also disconnected. It has
  /// write_timeout, and one second for each min_read_rate bytes of its replies. > 0
  std::size_t min_read_rate = std::size_t{64} << 10;
  /// Maximum bytes of replies to one batch of commands; the program decides how it counts them.
  std::size_t max_replies = std::size_t{512} << 20;
};

/// The counters of a server's connections.
struct ConnectionStats {
  std::uint64_t connections = 0;  ///< accepted
  std::uint64_t refused_connections = 0;
  std::uint64_t commands = 0;
  std::uint64_t slow_readers = 0;  ///< disconnected
  std::uint64_t protocol_errors = 0;
  std::uint64_t input_bytes = 0;
  std::uint64_t output_bytes = 0;
};

/// A setting that CONFIG GET shows: its name and value.
using Setting = std::pair<std::string_view, std::string>;

/// State that the connections of a server share, and what its program adds to the protocol.
///
/// Owner: outlives its connections.   Threads: the one that serves the connections.
struct Service {
  /// `server`: the name in HELLO. `program`: the name of the executable, for errors. `commands`:
  /// the program's rows; those of SessionCommands() come first.
  Service(std::string_view server, std::string_view program, std::span<const Command> commands,
          std::string password);
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  virtual ~Service() = default;

  /// Returns a batch for a new connection, whose session outlives it.
  [[nodiscard]] virtual std::unique_ptr<Batch> MakeBatch(Session& session) = 0;
  /// Returns the text of INFO for these sections, or for the default sections if there are none.
  [[nodiscard]] virtual std::string Info(Arguments sections) const = 0;
  [[nodiscard]] virtual std::vector<Setting> Settings() const = 0;
  /// Returns true if a command of this name comes from another server, not from a client.
  [[nodiscard]] virtual bool IsOfServers(std::string_view) const { return false; }
  /// Returns the limits of a new connection's input.
  [[nodiscard]] virtual CommandLimits InputLimits() const { return limits.commands; }

  const std::string_view server;
  const std::string_view program;
  const CommandTable commands;
  const std::string password;            ///< empty: none is required
  std::string_view mode = "standalone";  ///< "cluster" if clients may ask for CLUSTER SLOTS
  ConnectionLimits limits;
  TlsFiles tls;
  /// Made from these files by the listener, again at each SIGHUP. Null: clients speak no TLS.
  std::unique_ptr<boost::asio::ssl::context> tls_context;
  std::mutex tls_mutex;  ///< held while tls_context changes, and by other threads that use it
  ConnectionStats connection_stats;
  std::size_t clients = 0;  ///< connections that are not of other servers
  CommandStats command_stats;
  std::map<std::uint64_t, const Session*> sessions;
  std::uint16_t port = 0;
  TimePoint started = SteadyNow();
  std::function<void()> shut_down = [] {};  ///< called by SHUTDOWN
  bool draining = false;                    ///< the listener takes no further command
};

}  // namespace stout::resp
