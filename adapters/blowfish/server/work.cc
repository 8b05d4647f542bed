#include "blowfish/server/work.h"

#include <algorithm>

#include "blowfish/server/shard_runner.h"
#include "resp/store/store_commands.h"

namespace stout::blowfish {

Shard& Work::shard() const { return runner_.shard_; }

std::size_t Work::shard_number() const { return runner_.number_; }

WaitQueue& Work::waits() const { return runner_.waits_; }

bool Work::Keep(std::size_t bytes) {
  if (batch.Keep(bytes)) return true;
  subrequest.error = "ERR the replies are larger than --max-replies: request less at a time";
  return false;
}

void Work::ReplyValue(std::optional<std::string_view> value) {
  if (value && !Keep(value->size())) return;
  Reply([&](resp::ReplyWriter& reply) {
    if (value) {
      reply.BulkString(*value);
    } else {
      reply.Null();
    }
  });
}

bool Work::MustWait(std::span<const PlainChange> changes) {
  const bool room =
      !waits().plain_waits() && !runner_.slices_.ending() && WillHaveRoom(shard(), changes);
  return waits().PlainMustWait(changes, {.fence = shard().IsFencePending(Scope()), .room = room});
}

bool Work::MustWaitForWrites(std::span<const PlainChange> changes) {
  const auto pending = [&](const PlainChange& change) { return shard().IsPending(change.key); };
  if (std::ranges::none_of(changes, pending)) return false;
  waits().AwaitKeys(changes);
  return true;
}

std::optional<std::string> Work::ReadNow(std::string_view key) const {
  std::optional<std::string> found;
  shard().Read(std::span(&key, 1), [&](std::size_t, Stamp, std::optional<std::string_view> value) {
    if (value) found.emplace(*value);
  });
  return found;
}

bool Work::Exists(std::string_view key) const {
  bool exists = false;
  shard().ReadStamps(std::span(&key, 1),
                     [&](std::size_t, Stamp, std::optional<std::string_view> value) {
                       exists = value.has_value();
                     });
  return exists;
}

void Work::Write(std::span<const PlainChange> changes) {
  const WriteBatch batch_of_changes = StampBatch(shard(), changes);
  if (batch_of_changes.epoch > resp::kMaxStamp) {
    subrequest.error = "ERR a key has the last version of the last epoch, so it cannot be changed";
    return;
  }
  Count([&] {
    shard().Write(batch_of_changes, [work = *this](const WriteResult& result) mutable {
      // The items of such a batch share one fate: it is whole or not at all.
      const Errc errc = result.items.empty() ? result.batch : result.items.front().errc;
      if (errc != Errc::kOk) work.subrequest.error = WriteError(errc);
      work.subrequest.changed = work.subrequest.changed || errc == Errc::kOk;
      work.OnWritten();
    });
  });
}

void Work::OnWritten() { runner_.OnWritten(batch); }

void Work::CloseSearch() { runner_.slices_.CloseSearch(batch); }

}  // namespace stout::blowfish
