#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "blowfish/load/record_queue.h"
#include "program/address.h"
#include "resp/client/connection.h"
#include "stout/adapters/event.h"
#include "stout/core/types.h"

namespace stout::blowfish {

/// The server that gets the records, and how.
struct LoaderOptions {
  program::Address server{.port = 6480};
  std::string password{};       ///< Empty: none
  std::size_t connections = 4;  ///< >= 1
  RecordQueue::Options window{};
  /// Longest time that a connection has something to send and gets nothing done, while the server
  /// refuses it, or answers no PING. > 0
  Duration patience = std::chrono::seconds(30);
};

/// Writes records to a server, over several connections at once. The hash of a record's key chooses
/// its connection. So of two records with the same key the later one stays, with the exception
/// below.
///
///     loader.Start();
///     while (...) if (!co_await loader.Add(key, value, line)) break;
///     co_await loader.Finish();
///     loader.Close();
///
/// A record that the server cannot take now, or that had no answer before a connection was lost, is
/// sent again, with pauses. A server that merges may let writes wait for minutes. So if answers are
/// late, another connection sends PING, and while the server answers that, records are not sent
/// again for 10 minutes, or for the patience if that is longer. A refused record is reported and
/// skipped. A server or a network may deliver data of a lost connection after data of the next one.
/// That may undo a later record, because SET has no versions.
///
/// Threads: one, of its executor.
/// Owner: must outlive the work that its executor runs for it.
/// Memory: a RecordQueue for each connection.
class Loader {
 public:
  struct Totals {
    std::uint64_t records = 0;  ///< That the server has.
    std::uint64_t bytes = 0;    ///< bytes of their keys and values
    std::uint64_t refused = 0;  ///< Records.

    friend bool operator==(const Totals&, const Totals&) = default;
  };
  /// Receives the events, on the executor.
  struct Handlers {
    std::function<void(std::uint64_t line, std::string_view error)> refused;
    std::function<void(std::string_view trouble)> trouble;  ///< Told once while it is the same.
    std::function<void(std::string_view why)> waits;        ///< Answers are late: told once.
    std::function<void()> gave_up;                          ///< Once; the reason is gave_up().
  };

  Loader(const boost::asio::any_io_executor& executor, LoaderOptions options, Handlers handlers);
  ~Loader();

  /// Begins to send.
  void Start();
  /// Waits until there is room for the record. False: the loader has given up, or was closed. Lines
  /// ascend.
  [[nodiscard]] boost::asio::awaitable<bool> Add(std::string_view key, std::string_view value,
                                                 std::uint64_t line);
  /// The same where there is room now; otherwise false.
  [[nodiscard]] bool TryAdd(std::string_view key, std::string_view value, std::uint64_t line);
  /// Waits until all records are loaded or refused. False: as Add.
  [[nodiscard]] boost::asio::awaitable<bool> Finish();
  /// Ends all connections, at once; call it before the end.
  void Close();

  [[nodiscard]] const Totals& totals() const { return totals_; }
  /// The first line of those added that is neither loaded nor refused.
  [[nodiscard]] std::optional<std::uint64_t> first_unfinished() const;
  /// Commands that were sent more than once.
  [[nodiscard]] std::uint64_t resent() const;
  /// Why it has given up, with the remedy; empty if it has not.
  [[nodiscard]] const std::string& gave_up() const { return gave_up_; }

 private:
  struct Lane;  // a connection and its records

  [[nodiscard]] boost::asio::awaitable<void> Run(Lane& lane);
  // Returns what did not work and may work again, or "".
  [[nodiscard]] boost::asio::awaitable<std::string> SendRound(Lane& lane);
  // Ends rounds whose answers are late, unless the server answers PING.
  [[nodiscard]] boost::asio::awaitable<void> Watch();
  [[nodiscard]] boost::asio::awaitable<bool> AnswersPing();
  void OnOutcome(Lane& lane, const RecordQueue::Outcome& outcome);
  // Tells the handler, unless this was the last trouble.
  void Tell(const std::function<void(std::string_view)>& handler, const std::string& trouble);
  void GiveUp(std::string_view why);

  const boost::asio::any_io_executor executor_;
  const LoaderOptions options_;
  const Handlers handlers_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  resp::Connection probe_;  // for PING
  boost::asio::steady_timer watch_;
  Event finished_;  // A queue is shorter than before, or all is over.
  Totals totals_;
  std::string trouble_;  // the last, since something was loaded
  std::string gave_up_;
  bool closed_ = false;
};

}  // namespace stout::blowfish
