#include "node/key_turn.h"

#include <utility>

namespace stout::node {

void KeyTurn::Put(std::string next) {
  const auto put = map.Put(key, std::move(next));
  put ? void(changed = true) : void(failed = put.error());
}

void KeyTurn::Remove() {
  if (!value) return;
  const auto deleted = map.Delete(key);
  deleted ? void(changed = true) : void(failed = deleted.error());
}

bool KeyTurn::ReplyValue() {
  if (!value) {
    reply.Null();
    return true;
  }
  if (replies.size() + value->size() > limits.max_replies) {
    request.error = "ERR the replies are larger than --max-replies: request less at a time";
    return false;
  }
  reply.BulkString(*value);
  return true;
}

}  // namespace stout::node
