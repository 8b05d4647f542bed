#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/document_shard.h"
#include "server/documents.h"
#include "server/scope_proof.h"
#include "stout/adapters/watched_store.h"
#include "stout/sharded.h"
#include "stout/store.h"
#include "stout/write_back_map.h"

namespace stout::docstore {

/// All documents of a store, owned by the last server that opened their scope.
///
/// The former owner loses nothing that it acknowledged, because the store applies none of its
/// batches after the fence. It answers 421 from its first refused batch on, and at most max_stale
/// after the take-over if it only reads. A store without fences keeps neither promise.
///
/// Owner: refers to the store, which outlives it.   Threads: any.
class StoreDocuments final : public Documents {
 public:
  StoreDocuments(const boost::asio::any_io_executor& executor, Store& store,
                 const DocumentsOptions& options);
  ~StoreDocuments() override;

  void Open(const std::string&, Done done) override;
  void Handle(DocumentRequest request, http::Respond respond) override;
  void Collect(UniqueFunction<void(std::vector<ShardSnapshot>)> done) override;
  /// 421 when another server has taken over the store, 503 before the store is open and while it
  /// does not answer.
  void Health(http::Respond respond) override;
  void Leave(Done done) override { done({}); }  // there is nobody to hand over to
  /// A server that was replaced, or whose store is not open yet, has nothing to write.
  void Drain(Done done) override {
    if (!open_) return Close(std::move(done));
    shards_.AsyncDrain([done = std::move(done)](ErrorCode ec) mutable {
      done(ec == Errc::kFenced ? ErrorCode() : ec);
    });
  }
  void Close(Done done) override;

 private:
  struct Opening;
  // Shows whether the scope is still ours. The store's calls share it, and may end after us.
  struct Ownership {
    void OnDone(Epoch of, ErrorCode ec) {
      if (of == epoch && ec == Errc::kFenced) lost = true;
    }

    std::atomic<Epoch> epoch = 0;  // 0 until the store is open
    std::atomic<bool> lost = false;
  };
  struct Shard {
    std::shared_ptr<WriteBackMap> map;
    DocumentShard documents;

    Shard(std::shared_ptr<WriteBackMap> its_map, DocumentShard its_documents)
        : map(std::move(its_map)), documents(std::move(its_documents)) {}
    [[nodiscard]] Interposer& interposer() { return map->interposer(); }
  };

  void OpenScope(std::unique_ptr<Opening> opening);
  /// Another server owns the scope: no shard of this one may go on.
  void OnLost();

  const Scope scope_;
  const Duration unhealthy_after_;
  const std::shared_ptr<ScopeProof> proof_;  // null: the store has no fences
  const std::shared_ptr<Ownership> ownership_ = std::make_shared<Ownership>();
  WatchedStore store_;
  std::atomic<bool> open_ = false;  // requests may come before
  const std::shared_ptr<std::atomic<std::size_t>> lent_bytes_ =
      std::make_shared<std::atomic<std::size_t>>(0);
  Sharded<Shard> shards_;
};

}  // namespace stout::docstore
