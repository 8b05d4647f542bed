#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "load/call.h"
#include "load/random.h"
#include "load/recorder.h"
#include "load/response_reader.h"
#include "stout/core/types.h"

namespace stout::load {

/// One keep-alive connection that sends calls in a pipeline and matches the answers, which HTTP/1.1
/// gives in order. A connection that breaks comes back by itself, with capped exponential back-off
/// and jitter; the calls in flight are reported lost, never sent again.
///
/// Owner: the runner; not movable.   Threads: the one that runs the io_context.
class Connection {
 public:
  class Owner {
   public:
    virtual void OnAnswer(const Call& call, const Answer& answer) = 0;
    /// Sent, and the connection ended without an answer: `why` is kConnection or kTimeout.
    virtual void OnLost(const Call& call, Failure why) = 0;
    /// There is room where there was none.
    virtual void OnRoom() = 0;

   protected:
    ~Owner() = default;
  };

  /// `owner` must outlive the connection. `number` only seeds the jitter.
  Connection(boost::asio::io_context& io, boost::asio::ip::tcp::endpoint server,
             std::size_t pipeline, std::uint64_t number, Owner& owner);

  /// Connects now, and again whenever the connection is lost.
  void Start();

  [[nodiscard]] bool HasRoom() const { return connected_ && in_flight_.size() < pipeline_; }
  [[nodiscard]] std::size_t in_flight() const { return in_flight_.size(); }

  /// Requires HasRoom(). `request` is the whole HTTP request; requests of one turn of the event
  /// loop leave in one system call.
  void Send(const Call& call, std::string_view request);

  /// Gives the connection up if its oldest call was sent before `deadline`.
  void DropIfSentBefore(TimePoint deadline);

 private:
  void OnConnected();
  void Read();
  void OnRead(std::size_t bytes);
  void FlushSoon();
  void Flush();
  void Drop(TimePoint timed_out_before);
  void ConnectLater();

  boost::asio::io_context& io_;
  boost::asio::ip::tcp::endpoint server_;
  std::size_t pipeline_;
  Owner& owner_;
  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer retry_timer_;
  Random random_;
  int failed_attempts_ = 0;

  bool connected_ = false;
  // Counts connections; an operation of an earlier one that ends late is ignored.
  std::uint64_t life_ = 0;
  std::deque<Call> in_flight_;  // oldest first
  ResponseReader reader_;
  std::string unsent_;   // gathers what Send is given
  std::string sending_;  // what the socket is writing
  bool flush_pending_ = false;
};

}  // namespace stout::load
