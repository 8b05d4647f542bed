#include "server/server.h"

#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "server/store_documents.h"
#include "stout/join.h"

namespace stout::docstore {
namespace {

monitor::HistoryRecorder::About About(const DocumentsOptions& documents, std::string store,
                                      std::size_t lanes) {
  return {"docstore-server", documents.map.engine.lane.write_policy.Name(), std::move(store),
          lanes};
}

monitor::HistoryRecorder::About About(const Store& store, const DocumentsOptions& documents,
                                      std::size_t shards) {
  return About(documents, store.traits().name, shards * store.traits().partitions);
}

std::uint64_t Answered(const http::HttpSnapshot& http) {
  return std::accumulate(
      http.requests.begin(), http.requests.end(), std::uint64_t{0},
      [](std::uint64_t sum, const auto& one) { return sum + one.second.count(); });
}

}  // namespace

Server::Server(boost::asio::io_context& context, std::unique_ptr<Documents> documents,
               monitor::HistoryRecorder::About about, std::shared_ptr<Tenants> tenants,
               Store* store, const http::HttpOptions& http)
    : documents_(std::move(documents)),
      history_(
          context.get_executor(),
          [this](monitor::HistoryRecorder::Collected done) {
            documents_->Collect(
                [this, done = std::move(done)](std::vector<ShardSnapshot> shards) mutable {
                  crowding_.Tell(service_.TenantsOf(shards));
                  done(std::move(shards), Answered(metrics_.Snapshot()));
                });
          },
          std::move(about)),
      service_(*documents_, metrics_, history_, tenants, store),
      http_(context, service_, metrics_, http) {
  if (store != nullptr && tenants != nullptr) store->Obey(std::move(tenants));
}

Server::Server(boost::asio::io_context& context, Store& store, const DocumentsOptions& documents,
               const http::HttpOptions& http)
    : Server(context, std::make_unique<StoreDocuments>(context.get_executor(), store, documents),
             About(store, documents, documents.shards), documents.tenants, &store, http) {}

Server::Server(boost::asio::io_context& context, Store& store, LeaseService& leases,
               const LeaseOptions& lease_options, const DocumentsOptions& documents,
               const http::HttpOptions& http)
    : Server(context,
             std::make_unique<LeasedDocuments>(context.get_executor(), store, leases, documents,
                                               lease_options),
             About(store, documents, lease_options.ranges), documents.tenants, &store, http) {}

Server::Server(boost::asio::io_context& context, const MemberStores& stores, LeaseService& leases,
               const LeaseOptions& lease_options, const DocumentsOptions& documents,
               const http::HttpOptions& http)
    : Server(
          context,
          std::make_unique<LeasedDocuments>(context.get_executor(), stores, leases, documents,
                                            lease_options),
          About(documents, "members", std::size_t{lease_options.ranges} * stores.agreed.replicas),
          documents.tenants, nullptr, http) {}

void Server::Drain(Done done) {
  service_.BeginDrain();
  history_.Stop();
  documents_->Leave([this, done = std::move(done)](ErrorCode left) mutable {
    // Side by side: the flush is what lets the last answers out.
    const auto both = internal::Join::Of(2, std::move(done));
    http_.Drain([both, left] { both->Finish(left); });
    documents_->Drain([both](ErrorCode ec) { both->Finish(ec); });
  });
}

void Server::Close(Done done) {
  history_.Stop();
  http_.Close();
  documents_->Close(std::move(done));
}

}  // namespace stout::docstore
