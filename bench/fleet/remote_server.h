#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "load/connection.h"
#include "load/open_loop.h"
#include "load/request_writer.h"

namespace stout::bench {

/// A docstore-server as its users see it: a change is a PUT of a document's only section.
///
/// Owner: not movable.   Threads: the one that runs the io_context.
class RemoteServer final : public Target, private load::Connection::Owner {
 public:
  /// Its documents are `count` from `first` on: what other servers of the fleet do not write.
  struct Range {
    std::uint32_t first = 0, count = 1;
  };

  RemoteServer(boost::asio::io_context& context, boost::asio::ip::tcp::endpoint server,
               Range documents, std::size_t value_bytes, std::size_t connections);

  void Change(std::size_t document, Answer answer) override;
  /// Does nothing, because the server counts; see FetchTotals.
  [[nodiscard]] Totals Count() const override { return {}; }
  void Close() override;

 private:
  void Pump();
  load::Connection* Roomiest();
  void Finish(std::uint64_t change, ErrorCode ec);
  void OnAnswer(const load::Call& call, const load::Answer& answer) override;
  void OnLost(const load::Call& call, load::Failure why) override;
  void OnRoom() override { Pump(); }

  const Range documents_;
  load::RequestWriter writer_;
  std::vector<std::unique_ptr<load::Connection>> connections_;
  std::deque<load::Call> queue_;  // not yet sent
  std::uint64_t changes_ = 0;     // so far
  std::unordered_map<std::uint64_t, Answer> unanswered_;
};

/// Returns the server's counters so far, from its page of metrics. Throws
/// boost::system::system_error if the server does not answer with them.
[[nodiscard]] boost::asio::awaitable<Totals> FetchTotals(boost::asio::ip::tcp::endpoint server);

}  // namespace stout::bench
