// A ReplicatedMap reads a page of keys at a member.
#include <boost/asio/post.hpp>
#include <memory>
#include <utility>

#include "replicated_map_state.h"
#include "working.h"

namespace stout::inline v1 {
using namespace internal;

// First a barrier at the member that is read: it may lack changes that were answered, in mode ec or
// at a lower level. If its store has refused a change, the barrier has waited for all others, and
// the key is in refusals_. If it leaves, another member is read.
void ReplicatedMap::State::Scan(ScanRequest request, Store::ScanHandler handler) {
  RequireStrand();
  MemberMask ordered = 0;
  ForEachMember(set_.in(), [&](MemberIndex m) {
    if (members_[m].interposer && StoreOf(m).traits().ordered) ordered |= MaskOf(m);
  });
  const Errc refusal = !serving()                             ? NotServing()
                       : ordered == 0                         ? Errc::kRefused
                       : asked_.size() >= engine_.max_replies ? Errc::kPushedBack
                                                              : Errc::kOk;
  if (refusal != Errc::kOk) {
    return Later(
        [handler = std::move(handler)](ErrorCode ec) mutable {
          handler({ErrcOf(ec), {}, {}});
        },
        refusal);
  }
  const MemberIndex m = set_.ChooseReader(ordered, ++last_id_);
  Reply ready = [weak = weak_from_this(), m, request = std::move(request),
                 handler = std::move(handler)](ErrorCode ec) mutable {
    const auto self = weak.lock();
    const bool serves = self && self->serving();
    if (serves && (self->set_.in() & MaskOf(m)) == 0) {
      return self->Scan(std::move(request), std::move(handler));
    }
    if (!serves || (ec && !IsOnlyRefused(ec))) {
      return handler({ec ? ErrcOf(ec) : Errc::kClosed, {}, {}});
    }
    self->ScanMember(m, request, std::move(handler));
  };
  (void)Ask(asked_, {std::move(ready), SaturatingAdd(Now(), engine_.reply_deadline)},
            {.members = 0, .only = MaskOf(m)},
            [this](ReplyId id, MemberIndex each) { AwaitBarrier(each, id); });
}

// The member has the changes before the barrier, also if it leaves while it is read.
void ReplicatedMap::State::ScanMember(MemberIndex m, const ScanRequest& request,
                                      Store::ScanHandler handler) {
  set_.OnReadSent(m);
  StoreOf(m).Scan(request, [weak = weak_from_this(), strand = strand_, work = Working(strand_), m,
                            opened = members_[m].opened,
                            handler = std::move(handler)](ScanResult page) mutable {
    boost::asio::post(strand, [weak = std::move(weak), m, opened, handler = std::move(handler),
                               page = std::move(page)]() mutable {
      const auto self = weak.lock();
      const bool lost = page.errc == Errc::kLost;
      if (lost) page.errc = Errc::kTransient;
      if (self && m < self->members_.size() && self->members_[m].opened == opened) {
        self->set_.OnReadAnswered(m);
        for (const ScannedKey& each : page.keys) self->See(each.state.stamp);
        if (lost) self->lost_ |= MaskOf(m);
        self->SchedulePump();
      }
      handler(std::move(page));
    });
  });
}

bool ReplicatedMap::State::Renew(ScannedKey& key) const {
  if (IsRefused(key.key)) return false;
  if (const Entry* const known = Shows(key.key) ? values_.Find(key.key) : nullptr) {
    key.state = known->stored();
    return true;
  }
  return !set_.differ() && set_.IsSettled(key.state.stamp);
}

}  // namespace stout::inline v1
