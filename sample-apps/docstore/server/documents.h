#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "http/message.h"
#include "protocol/errors.h"
#include "server/metrics.h"
#include "server/watched_store.h"
#include "stout/error.h"
#include "stout/unique_function.h"
#include "stout/write_back_map.h"

namespace stout::docstore {

struct DocumentsOptions {
  /// Options of each shard, except cache_bytes, of which each shard gets a part.
  WriteBackMapOptions map;
  /// Strands that documents are spread over, >= 1; under leases each range has its own.
  std::size_t shards = 1;
  /// Sections of one document, >= 1: its manifest is rewritten whenever one comes or goes.
  std::size_t max_sections = 10'000;
  /// Bytes of states in answers that wait for their readers, beyond those in the cache: see
  /// WriteBackMapOptions::lent_bytes. Further reads are answered 503. >= 1.
  std::size_t max_lent_bytes = std::size_t{64} << 20;
  /// Without leases: the name under which one server at a time owns the documents of the store. A
  /// server that opens it shuts out the one before. Not empty.
  Scope scope = "docstore";
  /// Without leases: an answer that changes nothing shows no state that another server replaced
  /// longer ago than this. > 0.
  Duration max_stale = std::chrono::seconds(2);
  /// Without leases: a store that has been asked in vain for this long makes the server unhealthy.
  /// Under leases it is twice their ttl. > 0.
  Duration unhealthy_after = std::chrono::seconds(20);
};

/// A request to a document, or to one of its sections.
struct DocumentRequest {
  http::Method method = http::Method::kGet;
  std::string document;
  std::string section;  ///< Empty: the request is about the document.
  http::Preconditions preconditions;
  std::string body;
};

/// The documents that a server serves: those of the store, or those whose ranges it has a lease of.
///
/// Owner: destroy it once drained or closed, or while the executor's context does not run.
/// Threads: any.
/// Errors: become responses. 421, and 503 with Retry-After, say that nothing was done.
class Documents {
 public:
  using Done = UniqueFunction<void(ErrorCode)>;

  virtual ~Documents() = default;

  /// The first thing to do; requests before it is done are answered 503. `address` is where others
  /// reach this server, if there may be others.
  virtual void Open(const std::string& address, Done done) = 0;

  /// Answers once, on any thread.
  virtual void Handle(DocumentRequest request, http::Respond respond) = 0;

  /// Statistics of every shard, on any thread.
  virtual void Collect(UniqueFunction<void(std::vector<ShardSnapshot>)> done) = 0;

  /// Answers 200 if requests can be served, else what the trouble is.
  virtual void Health(http::Respond respond) = 0;

  /// Hands over to other servers what can be handed over, while requests go on to come.
  virtual void Leave(UniqueFunction<void()> done) = 0;
  /// Takes no more changes, flushes, answers everything.
  virtual void Drain(Done done) = 0;
  /// Answers everything that waits with an error.
  virtual void Close(Done done) = 0;
};

/// The answer of Documents::Health if the store has been asked in vain for `limit`, or nullopt.
[[nodiscard]] std::optional<http::Response> StoreTrouble(const WatchedStore& store, Duration limit);

/// What a client is told whose request ended with an error; `changed` as in DocumentShard::Outcome.
[[nodiscard]] http::Response MakeError(ErrorCode ec, bool changed);

}  // namespace stout::docstore
