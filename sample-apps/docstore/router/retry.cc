#include "router/retry.h"

namespace stout::docstore {

Next Decide(http::Method method, Fate fate, Chance chance) {
  const bool again = chance.repeatable && chance.time_left;
  const bool changes_nothing = method == http::Method::kGet || method == http::Method::kHead;
  switch (fate) {
    case Fate::kAnswered:
      return Next::kPassOn;
    case Fate::kNotSent:
    case Fate::kNotDone:
      return again ? Next::kRetry : Next::kUnavailable;
    case Fate::kLost:
      return again && changes_nothing ? Next::kRetry : Next::kNoAnswer;
    case Fate::kTimedOut:
      return again && changes_nothing ? Next::kRetry : Next::kNoAnswerYet;
  }
  return Next::kPassOn;
}

bool SaysNotServed(int status, bool names_range) {
  return status == 421 || (status == 503 && names_range);
}

}  // namespace stout::docstore
