#include "node/repetition.h"

#include <algorithm>
#include <utility>

namespace stout::node {

void KeepDisplaced(std::vector<Request*>& requests) {
  const auto is_done = [](const Request* request) { return !request->displaced; };
  const auto last = std::find_if(requests.rbegin(), requests.rend(), is_done);
  for (auto at = last; at != requests.rend(); ++at) (*at)->displaced = false;
  requests.erase(requests.begin(), last.base());
}

void Reset(Request& request, ReplyRoom& room) {
  request.displaced = request.aborted = false;
  request.error.clear();
  request.states.clear();
  request.found.clear();
  request.next.reset();
  room.Return(std::exchange(request.room, 0));
  for (Request& queued : request.queued) {
    queued.displaced = false;
    room.Return(std::exchange(queued.room, 0));
    if (!queued.rejected) queued.error.clear();
  }
}

}  // namespace stout::node
