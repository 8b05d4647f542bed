#include "server/store_documents.h"

#include <atomic>
#include <boost/asio/post.hpp>
#include <memory>
#include <utility>

namespace stout::docstore {

StoreDocuments::StoreDocuments(const boost::asio::any_io_executor& executor, Store& store,
                               const DocumentsOptions& options)
    : shards_(executor, options.shards, [&](const auto& shard_executor, std::size_t) {
        WriteBackMapOptions map = options.map;
        map.cache_bytes /= options.shards;
        return std::make_unique<DocumentShard>(shard_executor, store, std::move(map),
                                               options.max_sections);
      }) {}

void StoreDocuments::Handle(DocumentRequest request, Respond respond) {
  DocumentShard& shard = shards_.For(request.document);
  shard.Handle(std::move(request),
               [respond = std::move(respond)](DocumentShard::Outcome outcome) mutable {
                 respond(outcome.error ? MakeError(outcome.error, outcome.changed)
                                       : std::move(outcome.response));
               });
}

void StoreDocuments::Collect(UniqueFunction<void(std::vector<ShardSnapshot>)> done) {
  struct Gather {
    std::vector<ShardSnapshot> shards;
    std::atomic<std::size_t> left;
    UniqueFunction<void(std::vector<ShardSnapshot>)> done;
  };
  auto gather = std::make_shared<Gather>();
  gather->shards.resize(shards_.size());
  gather->left = shards_.size();
  gather->done = std::move(done);
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    boost::asio::post(shards_[i].interposer().get_executor(), [gather, i, &shard = shards_[i]] {
      gather->shards[i] = shard.Snapshot(i);
      if (gather->left.fetch_sub(1) == 1) gather->done(std::move(gather->shards));
    });
  }
}

void StoreDocuments::Health(Respond respond) {
  Collect([respond = std::move(respond)](const auto& shards) mutable {
    bool fenced = false;
    for (const ShardSnapshot& shard : shards) {
      for (const auto& lane : shard.engine.lanes) fenced |= lane.fenced;
    }
    respond(fenced ? MakeError(Errc::kFenced) : MakeJson(200, "{\"status\":\"ok\"}\n"));
  });
}

}  // namespace stout::docstore
