#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>

#include "stout/lease_service.h"

namespace stout::inline v1 {

/// A lease service for the servers of one process. Several managers can share it, and a single
/// server gets every range. It stores nothing: epochs begin at the Unix time in microseconds.
///
/// Owner: the executor's context must outlive it.
/// Threads: as LeaseService. Answers come inside the call, tables on the executor.
/// Errors: never kTransient or kUnknown.
class InProcessLeases final : public LeaseService {
 public:
  explicit InProcessLeases(const boost::asio::any_io_executor& executor);
  ~InProcessLeases() override;

  void Join(const LeaseMember& member, JoinHandler handler) override;
  void KeepAlive(SessionId session, Handler handler) override;
  void Leave(SessionId session, Handler handler) override;
  void Acquire(SessionId session, RangeId range, AcquireHandler handler) override;
  void Release(SessionId session, RangeId range, Epoch epoch, Handler handler) override;
  [[nodiscard]] Watch WatchTable(TableHandler handler) override;

 private:
  class State;
  std::shared_ptr<State> state_;  // shared with the timer's pending wait
};

}  // namespace stout::inline v1
