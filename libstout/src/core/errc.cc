#include "stout/core/errc.h"

namespace stout::inline v1 {

std::string_view Describe(Errc errc) {
  switch (errc) {
    case Errc::kOk:
      return "done";
    case Errc::kPushedBack:
      return "pushed back: too much is waiting for the store; try again later";
    case Errc::kDraining:
      return "draining: no new change is taken";
    case Errc::kClosed:
      return "closed";
    case Errc::kFenced:
      return "fenced: another server owns the key";
    case Errc::kRefused:
      return "refused: the store will never take this state";
    case Errc::kTooLarge:
      return "too large for a batch or for the store";
    case Errc::kNotSerialized:
      return "the application could not serialise the state";
    case Errc::kDeadline:
      return "the deadline passed before the store was done";
    case Errc::kTransient:
      return "the store could not do it now";
    case Errc::kUnknown:
      return "no answer from the store: it may have happened or not";
    case Errc::kBadOptions:
      return "options out of range";
    case Errc::kBadUrl:
      return "a store URL that cannot be opened";
    case Errc::kCorrupt:
      return "the store is damaged, or holds bytes that this library did not write";
    case Errc::kLost:
      return "lost: the store came back and may lack acknowledged writes; open it anew";
    case Errc::kTooFewMembers:
      return "too few members of the range are in; try again later";
  }
  return "an unknown error code";
}

}  // namespace stout::inline v1
