#include "protocol/errors.h"

namespace stout::docstore {

http::Response MakeError(ErrorCode ec) {
  if (ec == Errc::kPushedBack) {
    return http::MakeUnavailable(
        "too many changes are waiting for the store",
        "repeat the request after Retry-After seconds, and send fewer changes at a time");
  }
  if (ec == Errc::kTooFewMembers) {
    return http::MakeUnavailable(
        "fewer stores have all changes than --min-in asks for",
        "repeat the request after Retry-After seconds; check the stores of --datalet");
  }
  if (ec == Errc::kDraining || ec == Errc::kClosed) {
    return http::MakeDraining();
  }
  if (ec == Errc::kFenced) {
    return http::MakeError(
        421, "another server has taken over this store",
        "send the request to that server; restart this server if it shall serve again");
  }
  if (ec == Errc::kDeadline) {
    return http::MakeError(
        504, "the store did not answer in time",
        "repeat the request; if this continues, check the store, or raise --reply-deadline");
  }
  if (ec == Errc::kTransient || ec == Errc::kUnknown) {
    return http::MakeUnavailable("the store does not answer");
  }
  if (ec == Errc::kTooLarge) {
    return http::MakeError(413, "the state exceeds the limit of the store or of a batch",
                           "split the section, or raise --max-batch-bytes");
  }
  if (ec == Errc::kRefused) {
    return http::MakeError(507, "the store refuses this state",
                           "send a different state; the logs of server and store give the reason");
  }
  if (ec == Errc::kLost) {
    return http::MakeError(500, "the store came back and may lack acknowledged changes",
                           "restart this server: it then serves what the store has");
  }
  return http::MakeError(500, ec.message(), "read the server's log");
}

}  // namespace stout::docstore
