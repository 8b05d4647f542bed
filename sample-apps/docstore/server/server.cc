#include "server/server.h"

#include <atomic>
#include <memory>
#include <utility>

namespace stout::docstore {

void Server::Drain(Done done) {
  service_.BeginDrain();
  struct Both {
    std::atomic<int> left = 2;
    ErrorCode flushed;  // written before its writer counts down
    Done done;

    void Finish() {
      if (left.fetch_sub(1) == 1) done(flushed);
    }
  };
  const auto both = std::make_shared<Both>();
  both->done = std::move(done);
  // Side by side: the flush is what lets the last answers out.
  http_.Drain([both] { both->Finish(); });
  documents_.Drain([both](ErrorCode ec) {
    both->flushed = ec;
    both->Finish();
  });
}

void Server::Close(Done done) {
  http_.Close();
  documents_.Close(std::move(done));
}

}  // namespace stout::docstore
