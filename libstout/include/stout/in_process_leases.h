#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <string_view>

#include "stout/lease_service.h"
#include "stout/registry.h"

namespace stout::inline v1 {

/// A lease service and registry for the servers of one process. Several managers can share it; a
/// single server gets every range. It stores nothing on disk, so epochs begin at the Unix time in
/// microseconds.
///
/// Owner: the executor's context must outlive it.
/// Threads: as LeaseService. Answers run inside the call, table handlers on the executor.
/// Errors: never kTransient or kUnknown.
class InProcessLeases final : public LeaseService, private Registry {
 public:
  explicit InProcessLeases(const boost::asio::any_io_executor& executor);
  ~InProcessLeases() override;

  void Join(const LeaseMember& member, JoinHandler handler) override;
  void KeepAlive(SessionId session, Handler handler) override;
  void Leave(SessionId session, Handler handler) override;
  void Acquire(SessionId session, RangeId range, AcquireHandler handler) override;
  void Release(SessionId session, RangeId range, Epoch epoch, Handler handler) override;
  [[nodiscard]] LeaseService::Watch WatchTable(LeaseService::TableHandler handler) override;
  [[nodiscard]] Registry* registry() override { return this; }

 private:
  class State;
  explicit InProcessLeases(std::shared_ptr<State> state);

  void Change(RegistryChange change, ChangeHandler handler) override;
  void Read(ReadHandler handler) override;
  [[nodiscard]] LeaseService::Watch WatchRecords(Registry::TableHandler handler) override;
  [[nodiscard]] Result<std::unique_ptr<LeaseService>> OpenTable(std::string_view table,
                                                                Diagnostics* diagnostics) override;

  std::shared_ptr<State> state_;  // shared with the timer's pending wait, and with OpenTable
};

}  // namespace stout::inline v1
