#include "server/server.h"

#include <memory>
#include <utility>

#include "server/store_documents.h"
#include "stout/sharded.h"

namespace stout::docstore {

Server::Server(boost::asio::io_context& context, std::unique_ptr<Documents> documents,
               const http::HttpOptions& http)
    : documents_(std::move(documents)),
      service_(*documents_, metrics_),
      http_(context, service_, metrics_, http) {}

Server::Server(boost::asio::io_context& context, Store& store, const DocumentsOptions& documents,
               const http::HttpOptions& http)
    : Server(context, std::make_unique<StoreDocuments>(context.get_executor(), store, documents),
             http) {}

Server::Server(boost::asio::io_context& context, Store& store, LeaseService& leases,
               const LeaseOptions& lease_options, const DocumentsOptions& documents,
               const http::HttpOptions& http)
    : Server(context,
             std::make_unique<LeasedDocuments>(context.get_executor(), store, leases, documents,
                                               lease_options),
             http) {}

void Server::Drain(Done done) {
  service_.BeginDrain();
  documents_->Leave([this, done = std::move(done)]() mutable {
    // Side by side: the flush is what lets the last answers out.
    const auto both = internal::Join::Of(2, std::move(done));
    http_.Drain([both] { both->Finish({}); });
    documents_->Drain([both](ErrorCode ec) { both->Finish(ec); });
  });
}

void Server::Close(Done done) {
  http_.Close();
  documents_->Close(std::move(done));
}

}  // namespace stout::docstore
