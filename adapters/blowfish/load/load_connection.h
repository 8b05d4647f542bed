#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "blowfish/load/event.h"
#include "blowfish/load/line_cutter.h"
#include "blowfish/load/loader_options.h"
#include "blowfish/load/send_window.h"
#include "stout/core/random.h"

namespace stout::blowfish {

/// Receives the outcomes of records.
class LoadListener {
 public:
  virtual void OnLoaded(std::size_t records, std::size_t bytes) = 0;
  virtual void OnRefused(std::uint64_t line, std::string_view error) = 0;
  /// Something does not work that may work again; told once while it is the same.
  virtual void OnTrouble(std::string_view trouble) = 0;
  /// The connection has ended its work, for good.
  virtual void OnGaveUp(std::string_view why) = 0;
  /// There is more room in a window than before.
  virtual void OnRoom() = 0;

 protected:
  ~LoadListener() = default;
};

/// One connection, which sends its records in their order and connects again where it is lost.
///
/// Threads: one, of its executor. Owner: must outlive Run().
class LoadConnection {
 public:
  using SteadyTime = std::chrono::steady_clock::time_point;

  /// Options and listener must outlive it. `seed`: of the pauses' jitter.
  LoadConnection(const boost::asio::any_io_executor& executor, const LoaderOptions& options,
                 LoadListener& listener, std::uint64_t seed);

  [[nodiscard]] const SendWindow& window() const { return window_; }
  /// Requires that the window is not full.
  void Add(std::string_view key, std::string_view value, std::uint64_t line);
  /// Sends what waits for its command to become larger.
  void Flush();

  /// Connects and sends until Close().
  [[nodiscard]] boost::asio::awaitable<void> Run();
  /// For good.
  void Close();
  /// To be called now and then: sees whether the server takes too long.
  void Watch(SteadyTime now);

 private:
  // Functions that return a text return the problem, or "".
  [[nodiscard]] boost::asio::awaitable<std::string> Connect();
  [[nodiscard]] boost::asio::awaitable<std::string> Reach();
  [[nodiscard]] boost::asio::awaitable<std::string> Authenticate();
  [[nodiscard]] boost::asio::awaitable<std::string> Exchange();
  [[nodiscard]] boost::asio::awaitable<std::string> Send();
  [[nodiscard]] boost::asio::awaitable<std::string> Receive();
  // Takes all the answers that have come.
  [[nodiscard]] std::string TakeAnswers();
  [[nodiscard]] boost::asio::awaitable<std::string> ReadSome();
  [[nodiscard]] std::optional<std::string> NextAnswer();
  [[nodiscard]] std::string OnAnswer(const std::string& line);
  [[nodiscard]] boost::asio::awaitable<void> Pause();

  void Progressed();
  void Trouble(std::string text);
  void GiveUp(const std::string& why);
  void Cancel();
  [[nodiscard]] bool cancelled() const { return late_ || closed_; }

  const LoaderOptions& options_;
  LoadListener& listener_;
  boost::asio::ip::tcp::resolver resolver_;
  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer pause_;
  Event work_;  // There may be something to send.
  SendWindow window_;
  LineCutter answers_;
  SplitMix64 random_;
  std::uint32_t failures_ = 0;  // Since something was done.
  bool again_ = false;          // The server could not: before it all is sent again, a pause.
  bool late_ = false;           // The server took too long, what waits for it is cancelled.
  bool closed_ = false;
  std::string trouble_;                // The last.
  SteadyTime progressed_at_{};         // Or the window was empty then.
  std::optional<SteadyTime> silence_;  // Since when the server owes us something and says nothing.
};

}  // namespace stout::blowfish
