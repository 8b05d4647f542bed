#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "stout/completion.h"
#include "stout/core/registry_table.h"
#include "stout/error.h"
#include "stout/lease_service.h"
#include "stout/unique_function.h"

namespace stout::inline v1 {

/// The configuration, datalets, sets and wanted owners of a deployment, stored with its leases. A
/// set changes only under the epoch of its range, so a former owner cannot change it. Owners and
/// sets have one total order. Source: CLUSTER.md, section 3, "In etcd".
///
///     Registry& registry = *service->registry();
///     registry.AsyncChange(ChangeSet(7, epoch, record, found), [&](ErrorCode ec, ChangeAnswer a) {
///       if (ec == Errc::kUnknown || a.outcome == ChangeOutcome::kChanged) return ReadAgain();
///       if (a.outcome == ChangeOutcome::kNotOwner) return Drop(7);
///       ...
///     });
///
/// A change compares, and then does everything or nothing. It may be repeated when its outcome is
/// unknown: if the record already is as asked for, it is done. A change that arrives late finds
/// another revision, if the record was changed since.
///
/// Owner: belongs to its LeaseService.
/// Threads: as LeaseService.
/// Errors: a call is answered exactly once.
///
/// | error       | meaning                                                                  |
/// |-------------|--------------------------------------------------------------------------|
/// | kTransient  | the coordinator could not be reached, and did nothing                    |
/// | kUnknown    | Change: it may have been done, or may be done later. Read again          |
/// | kFenced     | the change's session has ended                                           |
/// | kBadOptions | the change is invalid: WhyInvalid(change) has the text. Or the name of a |
/// |             | table is too long for this service: OpenTable has the text               |
class Registry {
 public:
  using ChangeHandler = UniqueFunction<void(ErrorCode, ChangeAnswer)>;
  using ReadHandler = UniqueFunction<void(ErrorCode, RegistryTable)>;
  using TableHandler = UniqueFunction<void(RegistryTable)>;
  using Watch = LeaseService::Watch;

  Registry() = default;
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;
  virtual ~Registry() = default;

  /// The answer has a meaning if there is no error. The session of the change, or the session that
  /// holds its range, must be one of the same LeaseService object.
  virtual void Change(RegistryChange change, ChangeHandler handler) = 0;
  /// Answers all records as they are at some moment of the call. A record that cannot be read is in
  /// `damaged` and is no error of the call.
  virtual void Read(ReadHandler handler) = 0;
  /// As LeaseService::WatchTable: the newest records, first once they are known, then after
  /// changes. After a lost connection the records as they are then.
  [[nodiscard]] virtual Watch WatchRecords(TableHandler handler) = 0;

  /// Opens the leases and the registry of a table of this deployment, with sessions of its own. May
  /// block. The table should be listed (CreateTable); its first member fixes its ranges. End its
  /// sessions and destroy it before the table is dropped: a table in use is not. The result must
  /// not outlive the executor's context of this service. Fails as OpenLeaseService.
  [[nodiscard]] virtual Result<std::unique_ptr<LeaseService>> OpenTable(
      std::string_view table, Diagnostics* diagnostics = nullptr) = 0;

  template <typename Token>
  auto AsyncChange(RegistryChange change, Token&& token) {
    return Initiate<void(ErrorCode, ChangeAnswer)>(
        [this, change = std::move(change)](ChangeHandler handler) mutable {
          Change(std::move(change), std::move(handler));
        },
        std::forward<Token>(token));
  }
  template <typename Token>
  auto AsyncRead(Token&& token) {
    return Initiate<void(ErrorCode, RegistryTable)>(
        [this](ReadHandler handler) { Read(std::move(handler)); }, std::forward<Token>(token));
  }
};

}  // namespace stout::inline v1
