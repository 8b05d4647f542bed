#include "server/leased_documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <iterator>
#include <string_view>
#include <utility>

#include "monitor/pages.h"
#include "protocol/fields.h"
#include "stout/adapters/datalet_url.h"
#include "stout/adapters/open_store.h"
#include "stout/adapters/partition.h"
#include "stout/join.h"

namespace stout::docstore {
namespace {

std::string PathOf(const DocumentRequest& request) {
  return request.section.empty()
             ? fmt::format("/docs/{}", request.document)
             : fmt::format("/docs/{}/sections/{}", request.document, request.section);
}

constexpr char kScope[] = "docs";

using LentBytes = std::shared_ptr<std::atomic<std::size_t>>;

// HashPartition of the document, by its id or by a key of it.
Partition DocumentPartition(std::string_view name, RangeId ranges) {
  return {std::string(name), ranges, [](std::string_view key, RangeId count) {
            return stout::RangeOf(key.substr(0, key.find('/')), count);
          }};
}

// The limits are those of the server, and each range gets an equal part of the cache.
WriteBackMapOptions MapOptions(const DocumentsOptions& options, RangeId ranges,
                               const LentBytes& lent) {
  WriteBackMapOptions map = options.map;
  map.cache_bytes /= ranges;
  map.lent_bytes = lent;
  map.tenants = options.tenants;
  return map;
}

MemberRangesOptions MembersOptions(const boost::asio::any_io_executor& executor,
                                   const WriteBackMapOptions& map, RangeId ranges) {
  return {.scope = kScope,
          .partition = DocumentPartition(kMembersPartition, ranges),
          .map = {.engine = map.engine,
                  .cache_bytes = map.cache_bytes,
                  .lent_bytes = map.lent_bytes,
                  .tenants = map.tenants},
          .open = [executor](const std::string& url, Diagnostics* why) {
            return OpenStore(url, executor, why);
          }};
}

RangeServerOptions ServerOptions(const DocumentsOptions& options, const LeaseOptions& leases,
                                 const LentBytes& lent, std::string_view partition) {
  const DocumentShard::Limits limits{options.max_sections, options.max_lent_bytes, lent};
  return {.partition = DocumentPartition(partition, leases.ranges),
          .ttl = leases.ttl,
          .farewell = leases.farewell,
          .handover_timeout = leases.handover_timeout,
          .make_state = [limits, recorder = options.recorder](const ServedRange& served) {
            return std::make_shared<DocumentShard>(served.map, limits, served.owns, nullptr,
                                                   recorder);
          }};
}

DocumentShard& ShardOf(const ServedRange& served) {
  return *static_cast<DocumentShard*>(served.state.get());
}

}  // namespace

LeasedDocuments::LeasedDocuments(const boost::asio::any_io_executor& executor, Store& store,
                                 LeaseService& leases, const DocumentsOptions& options,
                                 const LeaseOptions& lease_options)
    : unhealthy_after_(2 * lease_options.ttl),
      source_(std::make_unique<SharedStore>(executor, store, kScope,
                                            MapOptions(options, lease_options.ranges, lent_))),
      server_(executor, *source_, leases,
              ServerOptions(options, lease_options, lent_, kHashPartition)),
      pause_(executor) {}

LeasedDocuments::LeasedDocuments(const boost::asio::any_io_executor& executor,
                                 const MemberStores& stores, LeaseService& leases,
                                 const DocumentsOptions& options, const LeaseOptions& lease_options)
    : unhealthy_after_(2 * lease_options.ttl),
      source_(std::make_unique<MemberRanges>(
          executor, leases, stores.agreed,
          MembersOptions(executor, MapOptions(options, lease_options.ranges, lent_),
                         lease_options.ranges))),
      server_(executor, *source_, leases,
              ServerOptions(options, lease_options, lent_, kMembersPartition)),
      members_(static_cast<MemberRanges*>(source_.get())),
      pause_(executor) {
  for (const std::string& url : stores.datalets) {
    own_.push_back({.id = DataletIdOf(url), .datalet = {.url = url}});
  }
}

void LeasedDocuments::Open(const std::string& address, Done done) {
  server_.Open(address);
  if (members_ != nullptr) members_->Start(own_, [this] { return server_.session(); });
  AwaitMembership(std::move(done));
}

void LeasedDocuments::AwaitMembership(Done done) {
  if (server_.refused()) return done(Errc::kBadOptions);
  if (server_.joined()) return done({});
  if (ends_) return done(Errc::kClosed);
  pause_.expires_after(std::chrono::milliseconds(10));
  pause_.async_wait(
      [this, done = std::move(done)](ErrorCode) mutable { AwaitMembership(std::move(done)); });
}

void LeasedDocuments::Handle(DocumentRequest request, http::Respond respond) {
  const RangeId range = server_.RangeOf(request.document);
  server_.Run(range, [this, range, request = std::move(request),
                      respond = std::move(respond)](const RangeServer::Served& served) mutable {
    if (!served) return respond(NotServed(range, request));
    // A refusal names the request, but needs no body.
    DocumentRequest asked{request.method, request.document, request.section, {}, {}};
    auto answer = [this, range, epoch = served->epoch, asked = std::move(asked),
                   respond = std::move(respond)](DocumentShard::Outcome outcome) mutable {
      const ErrorCode ec = outcome.error;
      if (ec == Errc::kFenced) server_.GiveUp(range, epoch, ec);
      if (!ec) return respond(std::move(outcome.response));
      const bool gone = ec == Errc::kFenced || ec == Errc::kDraining || ec == Errc::kClosed;
      respond(gone && !outcome.changed ? NotServed(range, asked) : MakeError(ec, outcome.changed));
    };
    ShardOf(*served).Handle(std::move(request), std::move(answer));
  });
}

http::Response LeasedDocuments::NotServed(RangeId range, const DocumentRequest& request) const {
  const auto owner = server_.OwnerElsewhere(range);
  http::Response response =
      owner
          ? http::MakeError(421, "another server owns this document",
                            fmt::format("nothing was done: send the request to {}", *owner))
          : http::MakeUnavailable("this document is moving from one server to another",
                                  "nothing was done: repeat the request after Retry-After seconds");
  if (owner) response.location = fmt::format("http://{}{}", *owner, PathOf(request));
  response.fields.push_back({kUnservedRange, std::to_string(range)});
  return response;
}

void LeasedDocuments::Collect(UniqueFunction<void(std::vector<ShardSnapshot>)> done) {
  std::vector<RangeServer::Served> ranges = server_.ranges();
  auto snapshots = std::make_shared<std::vector<std::vector<ShardSnapshot>>>(ranges.size());
  const auto join =
      internal::Join::Of(ranges.size(), [snapshots, done = std::move(done)](ErrorCode) mutable {
        std::vector<ShardSnapshot> all;
        for (std::vector<ShardSnapshot>& each : *snapshots) {
          std::move(each.begin(), each.end(), std::back_inserter(all));
        }
        done(std::move(all));
      });
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto strand = ranges[i]->map->get_executor();
    boost::asio::post(strand, [snapshots, join, i, served = std::move(ranges[i])] {
      (*snapshots)[i] = ShardOf(*served).Snapshots(served->range);
      join->Finish({});
    });
  }
}

void LeasedDocuments::Health(http::Respond respond) {
  if (auto trouble = monitor::StoreTrouble(source_->name(), source_->InVain(), unhealthy_after_,
                                           source_->last_error(), "the server's log has more")) {
    return respond(std::move(*trouble));
  }
  if (server_.joined()) return respond(http::MakeHealthy());
  respond(http::MakeUnavailable("this server is not a member of the deployment at present",
                                "check the server's log and the lease service"));
}

}  // namespace stout::docstore
