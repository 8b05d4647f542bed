#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "http/message.h"
#include "protocol/errors.h"
#include "server/change_recorder.h"
#include "server/metrics.h"
#include "stout/core/types.h"
#include "stout/error.h"
#include "stout/tenants.h"
#include "stout/unique_function.h"
#include "stout/write_back_map.h"

namespace stout::docstore {

struct DocumentsOptions {
  /// Options of each shard. cache_bytes is the total, and each shard gets a part of it.
  WriteBackMapOptions map;
  /// Number of strands for the documents. Under leases, each range has its own strand. >= 1.
  std::size_t shards = 1;
  /// Maximum sections of one document. Each new or deleted section rewrites the manifest. >= 1.
  std::size_t max_sections = 10'000;
  /// Maximum bytes of states in unread answers, besides the cache: see
  /// WriteBackMapOptions::lent_bytes. Further reads are answered with 503. >= 1.
  std::size_t max_lent_bytes = std::size_t{64} << 20;
  /// Without leases: the name under which one server at a time owns the documents of the store. A
  /// server that opens it shuts out the previous one. Not empty.
  Scope scope = "docstore";
  /// Without leases: the maximum time for which an answer may show a state that another server has
  /// replaced. > 0.
  Duration max_stale = std::chrono::seconds(2);
  /// Without leases: the server is unhealthy if the store has been called for this time without a
  /// success. Under leases, this time is twice their ttl. > 0.
  Duration unhealthy_after = std::chrono::seconds(20);
  /// The tenants that requests may name, which share the cache and that of the store. Null: all
  /// requests are of one tenant.
  std::shared_ptr<Tenants> tenants;
  /// Records each change that is taken. Null: none does.
  std::shared_ptr<ChangeRecorder> recorder;
};

/// A request to a document, or to one of its sections.
struct DocumentRequest {
  http::Method method = http::Method::kGet;
  std::string document;
  std::string section;  ///< empty: the request names the document
  http::Preconditions preconditions;
  std::string body;
  TenantId tenant = 0;
};

/// The documents that a server serves: all documents of the store, or the ranges that it leases.
///
/// Owner: destroy it once drained or closed, or while the executor's context does not run.
/// Threads: any.
/// Errors: become responses. 421, and 503 with Retry-After, mean that nothing was done.
class Documents {
 public:
  using Done = UniqueFunction<void(ErrorCode)>;

  virtual ~Documents() = default;

  /// Call it first. Requests are answered with 503 until it is done. `address` is the address under
  /// which clients and other servers reach this server; only leases use it.
  virtual void Open(const std::string& address, Done done) = 0;

  /// Calls `respond` once, on any thread.
  virtual void Handle(DocumentRequest request, http::Respond respond) = 0;

  /// Calls `done` with the statistics of every shard, on any thread.
  virtual void Collect(UniqueFunction<void(std::vector<ShardSnapshot>)> done) = 0;

  /// Answers 200 if requests can be served, otherwise an error that gives the cause.
  virtual void Health(http::Respond respond) = 0;

  /// Hands over leased ranges to other servers. Requests are still served meanwhile. `done` gets an
  /// error if a change was dropped.
  virtual void Leave(Done done) = 0;
  /// Takes no more changes, flushes, and answers all requests.
  virtual void Drain(Done done) = 0;
  /// Answers all waiting requests with an error.
  virtual void Close(Done done) = 0;
};

/// Returns the answer to a request that ended with an error. `changed`: see DocumentShard::Outcome.
[[nodiscard]] http::Response MakeError(ErrorCode ec, bool changed);

}  // namespace stout::docstore
