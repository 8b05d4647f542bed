#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <string>
#include <vector>

#include "server/document_shard.h"
#include "server/documents.h"
#include "stout/sharded.h"
#include "stout/store.h"

namespace stout::docstore {

/// All documents of a store. A server that opens them shuts out whoever served them before, as far
/// as the store compares stamps.
///
/// Owner: refers to the store, which outlives it.   Threads: any.
class StoreDocuments final : public Documents {
 public:
  StoreDocuments(const boost::asio::any_io_executor& executor, Store& store,
                 const DocumentsOptions& options);

  void Open(const std::string&, Done done) override { shards_.AsyncOpen(std::move(done)); }
  void Handle(DocumentRequest request, Respond respond) override;
  void Collect(UniqueFunction<void(std::vector<ShardSnapshot>)> done) override;
  /// 421 when another server has taken over the store.
  void Health(Respond respond) override;
  void Leave(UniqueFunction<void()> done) override { done(); }  // there is nobody to hand over to
  void Drain(Done done) override { shards_.AsyncDrain(std::move(done)); }
  void Close(Done done) override { shards_.AsyncClose(std::move(done)); }

 private:
  Sharded<DocumentShard> shards_;
};

}  // namespace stout::docstore
