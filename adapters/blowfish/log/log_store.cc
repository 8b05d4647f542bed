#include "blowfish/log/log_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <limits>
#include <random>
#include <utility>

namespace stout::blowfish {
namespace {

constexpr std::uint32_t kRestOfBatch = std::numeric_limits<std::uint32_t>::max();
/// Room for this number of pending keys is kept; larger batches are rare.
constexpr std::size_t kPendingKept = 16384;
constexpr std::size_t kEpochBytes = MaxOperationBytes(0, 0);

std::uint64_t DrawSeed() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

ErrorCode CheckOptions(const LogStoreOptions& options, Diagnostics* diagnostics) {
  const auto check = [&](std::string_view name, std::size_t value, std::size_t max) -> ErrorCode {
    if (value > 0 && value <= max) return {};
    if (diagnostics) diagnostics->message = fmt::format("{} must be in 1..{}", name, max);
    return Errc::kBadOptions;
  };
  ErrorCode error = check("max_waiting_bytes", options.max_waiting_bytes, kMaxPayloadBytes / 2);
  if (!error) error = check("max_batch_bytes", options.max_batch_bytes, kMaxPayloadBytes / 2);
  if (error) return error;
  return check("max_table_bytes", options.max_table_bytes, LogTable::kMaxBytes);
}

// Maximum bytes of the log for all of it.
std::size_t BytesToLog(const WriteBatch& batch) {
  std::size_t bytes = kEpochBytes;
  for (const WriteItem& item : batch.items) {
    bytes += MaxOperationBytes(item.key.size(), item.value.size());
  }
  return bytes;
}

}  // namespace

Result<std::unique_ptr<LogStore>> LogStore::Open(LogDirectory& directory, LogStoreOptions options,
                                                 RecoveryReport* report, Diagnostics* diagnostics) {
  if (const ErrorCode error = CheckOptions(options, diagnostics)) return error;
  std::unique_ptr<LogStore> store(new LogStore(std::move(options)));
  if (const ErrorCode error = store->Recover(directory, report, diagnostics)) return error;
  return store;
}

LogStore::LogStore(LogStoreOptions options)
    : options_(std::move(options)), table_(std::make_shared<LogTable>(options_.schema)) {}

ErrorCode LogStore::Recover(LogDirectory& directory, RecoveryReport* report,
                            Diagnostics* diagnostics) {
  const Result<RecoveredLog> log = RecoverLog(
      directory, options_.shard, options_.first_sequence,
      [this](const Operation& operation) { Replay(operation); }, diagnostics);
  if (!log) return log.error();
  log_bytes_ = log->report.bytes;
  if (report) *report = log->report;
  writer_ = std::make_unique<LogWriter>(
      LogAppender(directory, options_.shard, log->end, log->last_sequence,
                  options_.seed != 0 ? options_.seed : DrawSeed()),
      LogWriter::Options{options_.wake, options_.own_thread});
  return {};
}

void LogStore::Replay(const Operation& operation) {
  max_epoch_ = std::max(max_epoch_, operation.stamp.epoch);
  switch (operation.kind) {
    case Operation::Kind::kPut:
    case Operation::Kind::kDelete:
      if (options_.on_apply) {
        const LogEntry* const before = table_->Find(operation.key);
        const bool newer = before == nullptr || before->record.stamp < operation.stamp;
        if (newer) options_.on_apply(operation, before);
      }
      return table_->Apply(operation);
    case Operation::Kind::kFence: {
      const auto [fence, added] = fences_.try_emplace(Scope(operation.key));
      fence->second = std::max(fence->second, operation.stamp.epoch);
      if (added) fence_bytes_ += MaxOperationBytes(operation.key.size(), 0);
      return;
    }
    case Operation::Kind::kEpoch:
      return;
  }
}

LogStore::~LogStore() {
  if (!writer_) return;
  closing_ = true;
  writer_->Close();
  writer_->Poll();
}

void LogStore::Write(const WriteBatch& batch, std::uint64_t now_ms, Store::WriteHandler handler) {
  const std::size_t bytes = BytesToLog(batch);
  if (const Errc errc = Admit(batch, bytes); errc != Errc::kOk) return handler({errc, {}});
  const auto call = std::make_shared<Call>();
  const auto append = std::make_shared<Append>();
  append->payload.reserve(bytes);  // It does not move: pending_ has views of the keys in it.
  ReservePending(batch.items.size());
  if (batch.epoch > max_epoch_) {
    AppendOperation({.kind = Operation::Kind::kEpoch, .stamp = {batch.epoch, 0}}, &append->payload);
  }
  for (std::uint32_t item = 0; item < batch.items.size(); ++item) {
    Compare(batch, item, now_ms, call, append.get());
  }
  if (!append->payload.empty()) {
    append->waiters.push_back({call, kRestOfBatch, Errc::kOk});
    Submit(append);
    ++call->open;
  }
  // From here on nothing throws.
  MarkPending(*append);
  max_epoch_ = std::max(max_epoch_, batch.epoch);
  call->handler = std::move(handler);
  if (call->open == 0) Answer(*call);
}

bool LogStore::IsFenced(const Scope& scope, Epoch epoch) const {
  const auto fence = fences_.find(scope);
  return fence != fences_.end() && fence->second > epoch;
}

Errc LogStore::Admit(const WriteBatch& batch, std::size_t bytes) const {
  if (IsFenced(batch.scope, batch.epoch)) return Errc::kFenced;
  if (const auto fence = pending_fences_.find(batch.scope);
      fence != pending_fences_.end() && fence->second.epoch > batch.epoch) {
    return Errc::kTransient;  // not known until the disk has answered
  }
  if (bytes > options_.max_batch_bytes) return Errc::kTooLarge;
  const bool room = HasRoom(bytes) && table_->bytes() <= options_.max_table_bytes;
  return room ? Errc::kOk : Errc::kTransient;
}

void LogStore::Compare(const WriteBatch& batch, std::uint32_t item, std::uint64_t now_ms,
                       const std::shared_ptr<Call>& call, Append* append) {
  const Stamp stamp{batch.epoch, batch.items[item].version};
  const auto pending = pending_.find(batch.items[item].key);
  const bool under_way = pending != pending_.end();
  const std::optional<Stamp> newest =
      under_way ? pending->second.stamp : DurableStamp(batch.items[item].key);
  if (!newest || *newest < stamp) return Log(batch.items[item], stamp, now_ms, append);
  const Errc verdict = newest->epoch > stamp.epoch ? Errc::kFenced : Errc::kOk;
  if (under_way) {
    pending->second.append->waiters.push_back({call, item, verdict});  // S2
    ++call->open;
  } else if (verdict != Errc::kOk) {
    call->result.items.push_back({item, verdict});
  }
}

std::optional<Stamp> LogStore::NewestStamp(KeyView key) const {
  const auto pending = pending_.find(key);
  return pending != pending_.end() ? pending->second.stamp : DurableStamp(key);
}

std::optional<Stamp> LogStore::DurableStamp(KeyView key) const {
  if (const LogEntry* const entry = table_->Find(key)) return entry->record.stamp;
  return options_.older_stamp ? options_.older_stamp(key) : std::nullopt;
}

void LogStore::Log(const WriteItem& item, Stamp stamp, std::uint64_t now_ms, Append* append) {
  Operation operation{.key = item.key, .stamp = stamp};
  if (item.kind == WriteKind::kDelete) {
    operation.kind = Operation::Kind::kDelete;
    operation.deleted_at_ms = now_ms;
  } else {
    operation.value = item.value;
  }
  AppendOperation(operation, &append->payload);
}

// reserve() alone may also shrink.
void LogStore::ReservePending(std::size_t more) {
  const std::size_t size = pending_.size() + more;
  if (size > pending_.max_load()) pending_.reserve(2 * size);
}

// There is room for all its keys.
void LogStore::MarkPending(Append& append) {
  for (std::string_view rest = append.payload; !rest.empty();) {
    const Operation operation = *TakeOperation(&rest);
    if (operation.kind == Operation::Kind::kEpoch) continue;
    pending_.erase(operation.key);  // The old entry's key is in a payload that goes earlier.
    pending_.emplace(operation.key, PendingStamp{operation.stamp, &append});
  }
}

void LogStore::Submit(std::shared_ptr<Append> append) {
  const std::string_view payload = append->payload;
  writer_->Append(payload,
                  [this, append = std::move(append)](Errc errc) { OnCommitted(*append, errc); });
  waiting_bytes_ += payload.size();
}

void LogStore::Submit(const Operation& operation, UniqueFunction<void(Errc)> done) {
  auto append = std::make_shared<Append>();
  AppendOperation(operation, &append->payload);
  append->done = std::move(done);
  if (operation.kind != Operation::Kind::kFence) return Submit(std::move(append));
  // Epoch 0 shuts no writer out, should the rest fail.
  PendingFence& pending = pending_fences_[Scope(operation.key)];
  const PendingFence fence{operation.stamp.epoch, append.get()};
  Submit(std::move(append));
  pending = fence;
}

void LogStore::OnCommitted(Append& append, Errc errc) {
  waiting_bytes_ -= append.payload.size();
  if (errc == Errc::kOk) log_bytes_ += append.payload.size();
  for (std::string_view rest = append.payload; !rest.empty();) {
    Settle(*TakeOperation(&rest), append, errc);
  }
  // Not `= {}`, which keeps the memory.
  if (pending_.empty() && pending_.bucket_count() > kPendingKept) pending_ = decltype(pending_)();
  if (append.done) append.done(errc);
  for (const Waiter& waiter : append.waiters) Resolve(waiter, errc);
}

void LogStore::Settle(const Operation& operation, const Append& append, Errc errc) {
  switch (operation.kind) {
    case Operation::Kind::kPut:
    case Operation::Kind::kDelete: {
      const auto pending = pending_.find(operation.key);
      if (pending != pending_.end() && pending->second.append == &append) pending_.erase(pending);
      break;
    }
    case Operation::Kind::kFence: {
      const auto pending = pending_fences_.find(Scope(operation.key));
      if (pending != pending_fences_.end() && pending->second.append == &append) {
        pending_fences_.erase(pending);
      }
      break;
    }
    case Operation::Kind::kEpoch:
      break;
  }
  if (errc == Errc::kOk) Replay(operation);
}

void LogStore::Resolve(const Waiter& waiter, Errc errc) {
  Call& call = *waiter.call;
  if (errc == Errc::kOk) errc = waiter.if_durable;
  if (waiter.item == kRestOfBatch) {
    call.result.batch = errc;
  } else if (errc != Errc::kOk) {
    call.result.items.push_back({waiter.item, errc});
  }
  if (--call.open == 0) Answer(call);
}

void LogStore::Answer(Call& call) {
  if (!call.handler) return;
  std::sort(call.result.items.begin(), call.result.items.end(),
            [](const ItemError& a, const ItemError& b) { return a.index < b.index; });
  call.handler(std::move(call.result));
}

void LogStore::NewEpoch(Store::EpochHandler handler) {
  if (max_epoch_ == std::numeric_limits<Epoch>::max()) return handler(Errc::kRefused, 0);
  if (!HasRoom(kEpochBytes)) return handler(Errc::kTransient, 0);
  const Epoch epoch = ++max_epoch_;
  Submit({.kind = Operation::Kind::kEpoch, .stamp = {epoch, 0}},
         [handler = std::move(handler), epoch](Errc errc) mutable {
           if (errc == Errc::kOk) return handler({}, epoch);
           handler(Errc::kTransient, 0);  // Should it be in the log after all, a number is skipped.
         });
}

void LogStore::Fence(const Scope& scope, Epoch epoch, Store::FenceHandler handler) {
  const std::size_t bytes = MaxOperationBytes(scope.size(), 0);
  const std::size_t added = fences_.contains(scope) ? 0 : bytes;
  const bool fits = added == 0 || fence_bytes_ + added <= options_.max_fence_bytes;
  if (scope.size() > kMaxScopeBytes || !fits) return handler(Errc::kRefused);
  if (const auto fence = fences_.find(scope); fence != fences_.end()) {
    if (fence->second > epoch) return handler(Errc::kFenced);
    if (fence->second == epoch) return handler({});
  }
  const auto pending = pending_fences_.find(scope);
  const bool newer = pending != pending_fences_.end() && pending->second.epoch > epoch;
  // Fences under way may fail, or may have this scope, so the answer is not final.
  const bool may_fit =
      added == 0 || fence_bytes_ + pending_fence_bytes_ + added <= options_.max_fence_bytes;
  if (newer || !may_fit || !HasRoom(bytes)) return handler(Errc::kTransient);
  max_epoch_ = std::max(max_epoch_, epoch);
  Submit({.kind = Operation::Kind::kFence, .key = scope, .stamp = {epoch, 0}},
         [this, bytes, handler = std::move(handler)](Errc errc) mutable {
           pending_fence_bytes_ -= bytes;
           handler(errc);
         });
  pending_fence_bytes_ += bytes;
}

void LogStore::Freeze(FreezeHandler handler) {
  if (freezing_) return handler(Errc::kTransient, {});
  freezing_ = true;
  Rotate([this, handler = std::move(handler)](ErrorCode failed, std::uint64_t through) mutable {
    if (!failed) return CarryOver(EncodeFencesAndEpoch(), through, std::move(handler));
    freezing_ = false;
    handler(failed, {});
  });
}

void LogStore::Rotate(RotateHandler handler) {
  writer_->Rotate([this, handler = std::move(handler)](Errc errc, std::uint64_t sequence) mutable {
    if (errc != Errc::kOk || closing_) return handler(Errc::kTransient, 0);
    handler({}, sequence - 1);
  });
}

// The files through `through` may be removed later, but their fences and epochs must stay.
// Therefore these are written into the new file before anything is frozen. All operations of the
// old files have been applied to the table by then.
void LogStore::CarryOver(std::vector<std::string> payloads, std::uint64_t through,
                         FreezeHandler handler) {
  auto append = std::make_shared<Append>();
  append->payload = std::move(payloads.back());
  payloads.pop_back();
  append->done = [this, payloads = std::move(payloads), through,
                  handler = std::move(handler)](Errc errc) mutable {
    if (errc == Errc::kOk && !payloads.empty() && !closing_)
      return CarryOver(std::move(payloads), through, std::move(handler));
    freezing_ = false;
    if (errc != Errc::kOk || !payloads.empty()) return handler(Errc::kTransient, {});
    FrozenLog frozen{std::move(table_), through, log_bytes_};
    table_ = std::make_shared<LogTable>(options_.schema);
    log_bytes_ = 0;
    handler({}, std::move(frozen));
  };
  Submit(std::move(append));
}

std::vector<std::string> LogStore::EncodeFencesAndEpoch() const {
  std::vector<std::string> payloads(1);
  AppendOperation({.kind = Operation::Kind::kEpoch, .stamp = {max_epoch_, 0}}, &payloads.back());
  for (const auto& [scope, epoch] : fences_) {
    const std::size_t bytes = payloads.back().size() + MaxOperationBytes(scope.size(), 0);
    if (bytes > options_.max_batch_bytes) payloads.emplace_back();
    AppendOperation({.kind = Operation::Kind::kFence, .key = scope, .stamp = {epoch, 0}},
                    &payloads.back());
  }
  return payloads;
}

}  // namespace stout::blowfish
