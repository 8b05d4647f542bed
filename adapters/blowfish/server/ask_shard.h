#pragma once

#include <future>
#include <utility>

#include "blowfish/server/shard_worker.h"

namespace stout::blowfish {

/// Does something on a shard's thread, and waits for it. Returns what it returned.
///
/// Requires that the shard was started, so that it is not down: otherwise it waits for ever.
template <typename Question>
auto Ask(ShardWorker& worker, Question question) {
  using Answer = decltype(question(std::declval<Shard&>()));
  std::packaged_task<Answer(Shard&)> task(std::move(question));
  auto answer = task.get_future();
  worker.queue().Push(std::move(task));
  return answer.get();
}

}  // namespace stout::blowfish
