#include "stout/core/reply_table.h"

namespace stout::internal {

ReplyTable::Index ReplyTable::Register(ReplyId id, TimePoint now) { return Add(id, now, false); }

ReplyTable::Index ReplyTable::RegisterFlush(ReplyId id, TimePoint now) {
  return Add(id, now, true);
}

ReplyTable::Index ReplyTable::Add(ReplyId id, TimePoint now, bool is_flush) {
  const Index index = replies_.Take();
  Queue& queue = is_flush ? flushes_ : queue_;
  // Fields are set one by one: a temporary would be written in words and read in vectors, which
  // stalls the processor.
  Reply& reply = replies_[index];
  reply.id = id;
  reply.registered = now;
  reply.first_wait = kNone;
  reply.pending = 1;  // until Seal
  reply.older = queue.newest;
  reply.newer = kNone;
  reply.errc = Errc::kOk;
  reply.is_flush = is_flush;
  (queue.newest == kNone ? queue.oldest : replies_[queue.newest].newer) = index;
  queue.newest = index;
  return index;
}

void ReplyTable::DependOn(Index reply, Ring& ring, Version version) {
  if (ring == kNone) {
    ring = waits_.Take();
    Wait& sentinel = waits_[ring];
    sentinel.reply = kNone;
    sentinel.prev = sentinel.next = ring;
  }
  const Index index = waits_.Take();
  const Index last = waits_[ring].prev;
  Wait& wait = waits_[index];
  wait.version = version;
  wait.reply = reply;
  wait.prev = last;
  wait.next = ring;
  wait.chain = replies_[reply].first_wait;
  waits_[last].next = index;
  waits_[ring].prev = index;
  replies_[reply].first_wait = index;
  ++replies_[reply].pending;
}

void ReplyTable::Seal(Index reply, Errc errc, TimePoint now) {
  if (errc != Errc::kOk) {
    End(reply, errc, now);
  } else if (--replies_[reply].pending == 0) {
    End(reply, replies_[reply].errc, now);
  }
}

void ReplyTable::Settle(Ring ring, Version version, Errc errc, TimePoint now) {
  if (ring == kNone) return;
  // The end of a reply may remove more waits from this ring, so the head is read each time.
  for (Index wait = waits_[ring].next; wait != ring && waits_[wait].version <= version;
       wait = waits_[ring].next) {
    EndWait(wait, errc, now);
  }
}

void ReplyTable::Expire(TimePoint now) {
  while (queue_.oldest != kNone && NextDeadline() <= now) End(queue_.oldest, Errc::kDeadline, now);
}

TimePoint ReplyTable::NextDeadline() const {
  if (queue_.oldest == kNone) return kNever;
  return SaturatingAdd(replies_[queue_.oldest].registered, deadline_);
}

void ReplyTable::Unlink(Index index) {
  Wait& wait = waits_[index];
  waits_[wait.prev].next = wait.next;
  waits_[wait.next].prev = wait.prev;
  wait.reply = kNone;
}

// Ends the wait for one key. It stays in the reply's chain until the reply ends.
void ReplyTable::EndWait(Index wait, Errc errc, TimePoint now) {
  const Index index = waits_[wait].reply;
  Unlink(wait);
  Reply& reply = replies_[index];
  if (errc != Errc::kOk && reply.errc == Errc::kOk) reply.errc = errc;
  --reply.pending;
  const bool hopeless = reply.errc != Errc::kOk && !reply.is_flush;
  if (reply.pending == 0 || hopeless) End(index, reply.errc, now);
}

void ReplyTable::End(Index index, Errc errc, TimePoint now) {
  const Reply& reply = replies_[index];
  if (!reply.is_flush) {
    latency_.Record(now - reply.registered);
    if (errc != Errc::kOk) ++failed_;
  }
  effects_.replies.push_back({reply.id, errc});
  Remove(index);
}

bool ReplyTable::Withdraw(Index index, ReplyId id) {
  if (replies_[index].id != id) return false;
  Remove(index);
  return true;
}

void ReplyTable::Remove(Index index) {
  Reply& reply = replies_[index];
  for (Index wait = reply.first_wait; wait != kNone;) {
    if (waits_[wait].reply != kNone) Unlink(wait);
    const Index next = waits_[wait].chain;
    waits_.Give(wait);
    wait = next;
  }
  Queue& queue = QueueOf(reply);
  (reply.older == kNone ? queue.oldest : replies_[reply.older].newer) = reply.newer;
  (reply.newer == kNone ? queue.newest : replies_[reply.newer].older) = reply.older;
  reply.id = kEnded;
  replies_.Give(index);
}

}  // namespace stout::internal
