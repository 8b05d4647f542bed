// A ReplicatedMap reads a page of keys at a member.
#include <boost/asio/post.hpp>
#include <memory>
#include <utility>

#include "replicated_map_state.h"

namespace stout::inline v1 {
using namespace internal;

// First a barrier: a member may lack changes that were answered, in mode ec or at a lower level. If
// a store has refused a change, its key is in put_backs_.
void ReplicatedMap::State::Scan(ScanRequest request, Store::ScanHandler handler) {
  RequireStrand();
  Reply ready = [weak = weak_from_this(), request = std::move(request),
                 handler = std::move(handler)](ErrorCode ec) mutable {
    const auto self = weak.lock();
    if (!self || (ec && ec != Errc::kRefused && ec != Errc::kTooLarge)) {
      return handler({self ? ErrcOf(ec) : Errc::kClosed, {}, {}});
    }
    self->ScanMember(request, std::move(handler));
  };
  if (!serving()) return Later(std::move(ready), NotServing());
  const auto asked =
      Ask(std::move(ready), {.members = 0}, SaturatingAdd(Now(), engine_.reply_deadline));
  ForEachMember(asked.second,
                [&](MemberIndex m) { interposer(m).Barrier(ReplyOf(asked.first, m)); });
}

// A member that is in has the changes before the barrier, also if it leaves while it is read.
void ReplicatedMap::State::ScanMember(const ScanRequest& request, Store::ScanHandler handler) {
  MemberMask ordered = 0;
  ForEachMember(set_.in(), [&](MemberIndex m) {
    if (members_[m].interposer && StoreOf(m).traits().ordered) ordered |= MaskOf(m);
  });
  if (!serving() || ordered == 0) {
    return handler({serving() ? Errc::kRefused : NotServing(), {}, {}});
  }
  const MemberIndex m = set_.ChooseReader(ordered, ++last_id_);
  set_.OnReadSent(m);
  StoreOf(m).Scan(
      request, [weak = weak_from_this(), strand = strand_, m, opened = members_[m].opened,
                handler = std::move(handler)](ScanResult page) mutable {
        boost::asio::post(strand, [weak = std::move(weak), m, opened, handler = std::move(handler),
                                   page = std::move(page)]() mutable {
          const auto self = weak.lock();
          const bool lost = page.errc == Errc::kLost;
          if (lost) page.errc = Errc::kTransient;
          if (self && m < self->members_.size() && self->members_[m].opened == opened) {
            self->set_.OnReadAnswered(m);
            if (lost) self->lost_ |= MaskOf(m);
            self->SchedulePump();
          }
          handler(std::move(page));
        });
      });
}

bool ReplicatedMap::State::Renew(ScannedKey& key) const {
  if (put_backs_.contains(key.key)) return false;
  if (const Entry* const known = values_.Find(key.key)) {
    key.state = known->stored();
    return true;
  }
  return set_.IsSettled(key.state.stamp);
}

}  // namespace stout::inline v1
