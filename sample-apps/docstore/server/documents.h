#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "http/message.h"
#include "server/metrics.h"
#include "server/turnstile.h"
#include "stout/sharded.h"
#include "stout/unique_function.h"
#include "stout/write_back_map.h"

namespace stout::docstore {

struct DocumentsOptions {
  /// Of each shard, but for cache_bytes, of which each gets its part.
  WriteBackMapOptions map;
  /// Strands that documents are spread over, >= 1.
  std::size_t shards = 1;
  /// Sections of one document, >= 1: its manifest is rewritten whenever one comes or goes.
  std::size_t max_sections = 10'000;
};

/// A request to a document, or to one of its sections.
struct DocumentRequest {
  Method method = Method::kGet;
  std::string document;
  std::string section;  ///< Empty: the request is about the document.
  Preconditions preconditions;
  std::string body;
};

/// The documents: what each request reads and changes, and which keys its answer depends on.
///
/// The sections and the manifest of a document are keys of one shard, so a request looks at both
/// and changes both in one turn of that shard's strand. Its answer, whatever it says, goes through
/// SafeReply over the keys that it reveals: no client ever learns of a state that a crash could
/// take back. Requests to one document take effect in the order of the calls of Handle.
///
/// Owner: refers to the store, which outlives it. Destroy it once drained or closed, or while the
///   executor's context does not run.
/// Threads: any.
/// Errors: become responses, see MakeError(ErrorCode).
class Documents {
 public:
  using Done = UniqueFunction<void(ErrorCode)>;

  Documents(const boost::asio::any_io_executor& executor, Store& store,
            const DocumentsOptions& options);

  /// The first thing to do; requests before it is done are answered 503.
  void Open(Done done) { shards_.AsyncOpen(std::move(done)); }

  /// Answers once, on the strand of the document's shard.
  void Handle(DocumentRequest request, Respond respond);

  /// What every shard has done, on any thread.
  void Collect(UniqueFunction<void(std::vector<ShardSnapshot>)> done);

  /// Takes no more changes, flushes, answers everything.
  void Drain(Done done) { shards_.AsyncDrain(std::move(done)); }
  /// Answers everything that waits with an error.
  void Close(Done done) { shards_.AsyncClose(std::move(done)); }

 private:
  const std::size_t max_sections_;
  std::vector<std::shared_ptr<Turnstile>> turnstiles_;  // one a shard; made with it
  ShardedWriteBackMap shards_;
};

}  // namespace stout::docstore
