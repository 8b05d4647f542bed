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
/// set changes only under the epoch of its range, so a former owner cannot change it. Changes of
/// owners and of sets have one total order. Design: docs/decisions/0025.
///
///     Registry& registry = *service->registry();
///     registry.AsyncChange(ChangeSet(7, epoch, record, found), [&](ErrorCode ec, ChangeAnswer a) {
///       if (ec == Errc::kUnknown || a.outcome == ChangeOutcome::kChanged) return ReadAgain();
///       if (a.outcome == ChangeOutcome::kNotOwner) return Drop(7);
///       ...
///     });
///
/// A change compares, and then does everything or nothing. If its outcome is unknown, it may be
/// repeated: if the record already is as asked, the change is done. If the record was changed
/// meanwhile, a late change fails, because it finds another revision.
///
/// Owner: its LeaseService.   Threads: as LeaseService.
/// Errors: each call is answered exactly once.
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

  /// Makes one change. The ChangeAnswer is valid if there is no error. Requires that the session of
  /// the change, or the session that holds its range, was begun by the same LeaseService object.
  virtual void Change(RegistryChange change, ChangeHandler handler) = 0;
  /// Answers all records, as they were at one moment of the call. A record that cannot be read is
  /// in RegistryTable::damaged, and is not an error of the call.
  virtual void Read(ReadHandler handler) = 0;
  /// As LeaseService::WatchTable, with the newest records: once they are known, after changes, and
  /// after a lost connection.
  [[nodiscard]] virtual Watch WatchRecords(TableHandler handler) = 0;

  /// Opens the leases and the registry of a table of this deployment. The table has sessions of its
  /// own. It should be listed (CreateTable), and its first member fixes its ranges. May block. End
  /// the sessions and destroy the result before the table is dropped, because a table in use cannot
  /// be dropped. The executor's context of this service must outlive the result. Errors: as
  /// OpenLeaseService.
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
