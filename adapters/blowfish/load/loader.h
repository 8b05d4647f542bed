#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "blowfish/load/event.h"
#include "blowfish/load/load_connection.h"
#include "blowfish/load/loader_options.h"

namespace stout::blowfish {

/// Writes records to a server, over several connections at once, with many commands under way on
/// each. The hash of a record's key chooses its connection. So of two records with the same key the
/// later one stays, with the exception below.
///
///     loader.Start();
///     while (...) if (!co_await loader.Add(key, value, line)) break;
///     co_await loader.Finish();
///     loader.Close();
///
/// A record that the server cannot take now, or that had no answer before a connection was lost, is
/// sent again, with pauses. A refused record is reported and skipped. A server or a network may
/// deliver data of a lost connection after data of the next one. That may undo a later record,
/// because SET has no versions.
///
/// Threads: one, of its executor.
/// Owner: must outlive the work that its executor runs for it.
/// Memory: a window of commands for each connection, at most 8 MiB and a record.
class Loader : private LoadListener {
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
  };

  Loader(const boost::asio::any_io_executor& executor, LoaderOptions options, Handlers handlers);

  /// Begins to connect.
  void Start();

  /// Waits until there is room for the record. False: the loader has given up. Lines ascend.
  [[nodiscard]] boost::asio::awaitable<bool> Add(std::string_view key, std::string_view value,
                                                 std::uint64_t line);
  /// The same where there is room now; otherwise false.
  [[nodiscard]] bool TryAdd(std::string_view key, std::string_view value, std::uint64_t line);
  /// Sends also what waits for more to go with it: nothing may come for a while.
  void Flush();
  /// Waits until all records are loaded or refused. False: the loader has given up.
  [[nodiscard]] boost::asio::awaitable<bool> Finish();
  /// Ends all connections; call it before the end.
  void Close();

  [[nodiscard]] const Totals& totals() const { return totals_; }
  /// The first line of those added that is neither loaded nor refused.
  [[nodiscard]] std::optional<std::uint64_t> first_unfinished() const;
  /// Commands that were sent more than once.
  [[nodiscard]] std::uint64_t resent() const;
  /// Why it has given up, with the remedy; empty if it has not.
  [[nodiscard]] const std::string& gave_up() const { return gave_up_; }

 private:
  void OnLoaded(std::size_t records, std::size_t bytes) override;
  void OnRefused(std::uint64_t line, std::string_view error) override;
  void OnTrouble(std::string_view trouble) override;
  void OnGaveUp(std::string_view why) override;
  void OnRoom() override { room_.Notify(); }

  [[nodiscard]] LoadConnection& ConnectionOf(std::string_view key);
  [[nodiscard]] bool empty() const;
  [[nodiscard]] boost::asio::awaitable<void> Watch();

  const boost::asio::any_io_executor executor_;
  const LoaderOptions options_;
  const Handlers handlers_;
  std::vector<std::unique_ptr<LoadConnection>> connections_;
  Event room_;
  boost::asio::steady_timer watch_;
  Totals totals_;
  std::string last_trouble_;
  std::string gave_up_;
  bool closed_ = false;
};

}  // namespace stout::blowfish
