#include "node/key_turn.h"

#include <cstddef>
#include <new>
#include <utility>

#include "node/commands.h"
#include "resp/server/command_errors.h"

namespace stout::node {

bool TakeRoom(Request& request, ReplyRoom& room, std::size_t bytes) {
  const std::size_t taken = room.Take(bytes);
  request.room += taken;
  if (taken > 0) return true;
  const bool never = request.room + bytes > room.size();  // it would fail each time
  request.error = request.epoch == 0 || never ? kRepliesTooLarge : kNoRoomNow;
  return false;
}

// An estimate: some commands reply less than the values of their keys.
bool LacksRoom(const Request& exec, const std::map<KeyView, KeyMap::Entry>& states,
               const ReplyRoom& room) {
  if (exec.epoch == 0) return false;
  std::size_t bytes = 0;
  for (const Request& queued : exec.queued) {
    if (!queued.on_keys()) continue;
    // A later command may return what it writes.
    for (const std::string_view argument : queued.arguments) bytes += argument.size();
    for (std::size_t i = 0; i < queued.keys_read(); ++i) {
      const auto& value = states.at(queued.key(i)).value;
      if (value) bytes += value->size() + ReplyRoom::kAround;
    }
  }
  return bytes > room.left() && bytes <= room.size();
}

void KeyTurn::Run(const std::string* state) {
  stored = state != nullptr;
  const DatedValue dated = state != nullptr ? DecodeValue(*state) : DatedValue{};
  if (stored && !dated.expired(now)) {
    value = dated.value;
    deadline = dated.deadline;
  } else if (stored) {
    stamp = kExpiredState.stamp;
  }
  const std::size_t begin = replies.size();
  try {
    RowOf(*request.command).run(*this);
  } catch (const std::bad_alloc&) {
    replies.resize(begin);
    request.error = request.changed || changed
                        ? "ERR not all done: not enough memory for this command at present"
                        : resp::kNoMemory;
  }
  request.changed |= changed;
}

void KeyTurn::Put(std::string next, std::int64_t until) {
  deadlines.Note(until);
  std::string bytes = EncodeValue(std::move(next), until);
  // Without memory in the middle of a change, the map would be in disorder: the node ends.
  const auto put = [&]() noexcept { return map->Put(key, std::move(bytes)); }();
  put ? void(changed = true) : void(failed = put.error());
}

void KeyTurn::Remove() {
  if (!stored) return;
  const auto deleted = [&]() noexcept { return map->Delete(key); }();
  deleted ? void(changed = true) : void(failed = deleted.error());
}

bool KeyTurn::ReplyValue() {
  if (!value) {
    reply.Null();
    return true;
  }
  if (!TakeRoom(request, limits.replies, value->size())) return false;
  reply.BulkString(*value);
  return true;
}

std::optional<std::int64_t> KeyTurn::DeadlineOf(const resp::Expiry& expiry) {
  const std::int64_t from = expiry.from == resp::Expiry::From::kNow ? now : 0;
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(from, expiry.milliseconds, &sum)) return sum;
  request.error = resp::ExpireTimeError(request.command->name);
  return std::nullopt;
}

}  // namespace stout::node
