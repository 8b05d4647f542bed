#include "server/store_documents.h"

#include <spdlog/spdlog.h>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "monitor/pages.h"
#include "stout/core/backoff.h"
#include "stout/core/random.h"
#include "stout/join.h"

namespace stout::docstore {
namespace {

// Between attempts to open the scope: about five seconds in all.
constexpr Backoff kOpeningPause{std::chrono::milliseconds(20), std::chrono::seconds(1)};
constexpr std::uint32_t kMaxFailures = 10;

// A fence may have to wait while another server serves its last requests.
http::Response NotServing() {
  return http::MakeUnavailable(
      "the server does not serve yet: it waits for its store",
      "check the store and the network to it; the server's log has the reason");
}

std::shared_ptr<ScopeProof> MakeProof(const boost::asio::any_io_executor& executor, Store& store,
                                      const DocumentsOptions& options) {
  if (!store.traits().fences) return nullptr;
  return std::make_shared<ScopeProof>(executor, options.max_stale,
                                      options.map.engine.reply_deadline,
                                      options.map.engine.max_replies);
}

}  // namespace

StoreDocuments::StoreDocuments(const boost::asio::any_io_executor& executor, Store& store,
                               const DocumentsOptions& options)
    : scope_(options.scope),
      unhealthy_after_(options.unhealthy_after),
      proof_(MakeProof(executor, store, options)),
      store_(store,
             [proof = proof_, ownership = ownership_](
                 Epoch epoch, WatchedStore::Clock::time_point sent, ErrorCode ec) {
               ownership->OnDone(epoch, ec);
               if (proof) proof->OnDone(epoch, sent, ec);
             }),
      shards_(executor, options.shards, [&](const auto& shard_executor, std::size_t) {
        WriteBackMapOptions map = options.map;
        map.cache_bytes /= options.shards;
        map.lent_bytes = lent_bytes_;
        map.tenants = options.tenants;
        auto shard = std::make_shared<WriteBackMap>(shard_executor, store_, std::move(map));
        DocumentShard documents(
            shard, DocumentShard::Limits{options.max_sections, options.max_lent_bytes, lent_bytes_},
            DocumentShard::IsOurs(), proof_, options.recorder);
        return std::make_unique<Shard>(std::move(shard), std::move(documents));
      }) {}

StoreDocuments::~StoreDocuments() {
  if (proof_) proof_->Stop();
}

// An attempt to open, repeated while the store fails for the moment: a fence may have to wait for
// batches of the server that is replaced.
struct StoreDocuments::Opening {
  Opening(const boost::asio::any_io_executor& executor, Done done)
      : done(std::move(done)), pause(executor) {}

  Done done;
  boost::asio::steady_timer pause;
  std::uint32_t failures = 0;
  // Servers that start together pause differently.
  SplitMix64 random{
      static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count())};
};

void StoreDocuments::Open(const std::string&, Done done) {
  OpenScope(std::make_unique<Opening>(shards_.get_executor(), std::move(done)));
}

void StoreDocuments::OpenScope(std::unique_ptr<Opening> opening) {
  shards_.AsyncOpenScope(scope_, [this, opening = std::move(opening)](ErrorCode ec) mutable {
    const bool for_now = ec == Errc::kTransient || ec == Errc::kUnknown;
    if (for_now && opening->failures < kMaxFailures) {
      spdlog::warn("the store does not open scope '{}': {}; retrying", scope_, ec.message());
      opening->pause.expires_after(kOpeningPause.Pause(++opening->failures, opening->random));
      boost::asio::steady_timer& pause = opening->pause;
      return pause.async_wait([this, opening = std::move(opening)](ErrorCode cut) mutable {
        cut ? opening->done(Errc::kClosed) : OpenScope(std::move(opening));
      });
    }
    if (!ec) ownership_->epoch = shards_[0].interposer().epoch();
    if (!ec && proof_) proof_->Start(store_, scope_, ownership_->epoch, [this] { OnLost(); });
    open_ = !ec;
    opening->done(ec);
  });
}

void StoreDocuments::OnLost() {
  spdlog::error(
      "another server has taken over scope '{}' of this store: this server serves no more until it "
      "is restarted; give servers that share a store --leases, or each its own --scope and store",
      scope_);
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    Interposer& interposer = shards_[i].interposer();
    boost::asio::post(interposer.get_executor(), [&interposer] { interposer.Fence(); });
  }
}

void StoreDocuments::Close(Done done) {
  if (proof_) proof_->Stop();
  shards_.AsyncClose(std::move(done));
}

void StoreDocuments::Handle(DocumentRequest request, http::Respond respond) {
  if (!open_) return respond(NotServing());
  DocumentShard& shard = shards_.For(request.document).documents;
  shard.Handle(std::move(request),
               [respond = std::move(respond)](DocumentShard::Outcome outcome) mutable {
                 respond(outcome.error ? MakeError(outcome.error, outcome.changed)
                                       : std::move(outcome.response));
               });
}

void StoreDocuments::Collect(UniqueFunction<void(std::vector<ShardSnapshot>)> done) {
  auto snapshots = std::make_shared<std::vector<ShardSnapshot>>(shards_.size());
  const auto join = internal::Join::Of(
      shards_.size(),
      [snapshots, done = std::move(done)](ErrorCode) mutable { done(std::move(*snapshots)); });
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    boost::asio::post(shards_[i].map->get_executor(), [join, snapshots, i, &shard = shards_[i]] {
      (*snapshots)[i] = shard.documents.Snapshots(i).front();
      join->Finish({});
    });
  }
}

void StoreDocuments::Health(http::Respond respond) {
  if (!open_) return respond(NotServing());
  store_.ProbeIfNeeded();
  // Without the figures of the shards: they would take memory that no limit counts.
  if (ownership_->lost) return respond(MakeError(Errc::kFenced));
  if (auto trouble = monitor::StoreTrouble(store_, unhealthy_after_))
    return respond(std::move(*trouble));
  respond(http::MakeHealthy());
}

}  // namespace stout::docstore
