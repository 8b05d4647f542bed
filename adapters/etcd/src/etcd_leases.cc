#include "stout/adapters/etcd_leases.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <chrono>
#include <optional>
#include <utility>

#include "engine.h"
#include "requests.h"
#include "stout/clock.h"
#include "stout/core/parse_number.h"

namespace stout {
namespace {

namespace asio = boost::asio;
using etcd::Gateway;
using etcd::Message;
using etcd::Reply;

constexpr Duration kShortest = std::chrono::milliseconds(1);

Epoch UnixMicroseconds() {
  return static_cast<Epoch>(UnixTime().time_since_epoch() / std::chrono::microseconds(1));
}

struct Entered {
  etcd::Deployment deployment;
  Revision created;  // of its key
};

// The deployment as it is, which the member may be the first of. Fails with kBadOptions if it has
// another partition or number of ranges.
asio::awaitable<Result<Entered>> Enter(Gateway& gateway, const etcd::Keys& keys,
                                       const LeaseMember& member) {
  const etcd::Deployment mine{member.ranges, UnixMicroseconds(), member.partition};
  Message request = etcd::CreateDeployment(keys, mine);
  const Reply reply = co_await gateway.Call(request.path, std::move(request.body));
  if (reply.errc != Errc::kOk) co_return reply.errc;
  const auto kept = etcd::KeyReadBy(reply.body, 1);
  const auto deployment = kept ? etcd::DecodeDeployment(kept->value) : std::nullopt;
  if (!deployment || deployment->ranges != member.ranges ||
      deployment->partition != member.partition) {
    co_return Errc::kBadOptions;
  }
  co_return Entered{*deployment, kept->created};
}

asio::awaitable<Result<SessionId>> Begin(Gateway& gateway, const etcd::Keys& keys,
                                         const LeaseMember& member, Revision created) {
  Message request = etcd::GrantLease(std::chrono::ceil<std::chrono::seconds>(member.ttl));
  Reply reply = co_await gateway.Call(request.path, std::move(request.body));
  if (reply.errc != Errc::kOk) co_return reply.errc;
  const SessionId session = etcd::NumberIn(reply.body, "ID");
  if (session == 0) co_return Errc::kUnknown;
  request = etcd::PutMember(keys, session, member.address, created);
  reply = co_await gateway.Call(request.path, std::move(request.body));
  // A session without a key ends by itself.
  if (reply.errc != Errc::kOk || !etcd::Succeeded(reply.body)) co_return Errc::kUnknown;
  co_return session;
}

Errc RenewalOf(const Reply& reply) {
  if (reply.errc != Errc::kOk) return reply.errc;
  const boost::json::value* const result = reply.body.get_object().if_contains("result");
  if (result == nullptr) return Errc::kUnknown;
  return etcd::NumberIn(*result, "TTL") > 0 ? Errc::kOk : Errc::kFenced;
}

Errc LeavingOf(const Reply& reply) { return reply.not_found ? Errc::kOk : reply.errc; }

Result<std::optional<Epoch>> TakingOf(const Reply& reply, SessionId session, Epoch epoch_base) {
  if (reply.not_found) return Errc::kFenced;
  if (reply.errc != Errc::kOk) return reply.errc;
  if (etcd::Succeeded(reply.body)) return std::optional(epoch_base + etcd::RevisionOf(reply.body));
  if (!etcd::KeyReadBy(reply.body, 1)) return Errc::kFenced;
  const auto range = etcd::KeyReadBy(reply.body, 0);
  if (!range || etcd::DecodeSession(range->value) != session) return std::optional<Epoch>();
  return std::optional(epoch_base + range->created);
}

Errc FreeingOf(const Reply& reply) {
  if (reply.errc != Errc::kOk) return reply.errc;
  return etcd::KeyReadBy(reply.body, 0) ? Errc::kOk : Errc::kFenced;
}

// As LeaseService::Acquire and Release. Without a deployment nobody has joined here.
asio::awaitable<Result<std::optional<Epoch>>> Take(Gateway& gateway, const etcd::Keys& keys,
                                                   std::optional<etcd::Deployment> deployment,
                                                   SessionId session, RangeId range) {
  if (!deployment) co_return Errc::kFenced;
  if (range >= deployment->ranges) co_return Errc::kBadOptions;
  Message request = etcd::TakeRange(keys, range, session);
  const Reply reply = co_await gateway.Call(request.path, std::move(request.body));
  co_return TakingOf(reply, session, deployment->epoch_base);
}

asio::awaitable<Errc> Free(Gateway& gateway, const etcd::Keys& keys,
                           std::optional<etcd::Deployment> deployment, SessionId session,
                           RangeId range, Epoch epoch) {
  if (!deployment) co_return Errc::kFenced;
  // Zero is the revision of a key that is not there: nothing is deleted.
  const Revision created = epoch > deployment->epoch_base ? epoch - deployment->epoch_base : 0;
  Message request = etcd::FreeRange(keys, range, session, created);
  const Reply reply = co_await gateway.Call(request.path, std::move(request.body));
  co_return FreeingOf(reply);
}

// One message, answered by `judge`.
asio::awaitable<Errc> Ask(Gateway& gateway, Message request, Errc (*judge)(const Reply&)) {
  const Reply reply = co_await gateway.Call(request.path, std::move(request.body));
  co_return judge(reply);
}

bool IsEndpoint(std::string_view text) {
  if (text.find('@') != text.npos) return false;
  const std::size_t colon = text.rfind(':');
  const std::string_view host = etcd::HostOf(text);
  if (colon == text.npos || host.empty() || host.find_first_of("[]") != host.npos) return false;
  return internal::ParseNumber<std::uint16_t>(text.substr(colon + 1)).value_or(0) != 0;
}

// Returns the endpoint in quotes, or its number if its text may be a part of a password. The name
// is looked at because a "/" in a password ends the endpoints before the password's "@".
std::string ShownEndpoint(const std::string& endpoint, const EtcdLeasesOptions& options) {
  const std::string url = fmt::format("etcd://{}/{}", endpoint, options.name);
  if (Redacted(url) == url) return fmt::format("'{}'", endpoint);
  return fmt::format("{}", &endpoint - options.endpoints.data() + 1);
}

std::optional<std::string> WhyNot(const EtcdLeasesOptions& options) {
  if (options.endpoints.empty()) return "needs an endpoint: HOST:PORT";
  for (const std::string& endpoint : options.endpoints) {
    if (!IsEndpoint(endpoint)) {
      return fmt::format("endpoint {} is not of the form HOST:PORT, without user and password",
                         ShownEndpoint(endpoint, options));
    }
  }
  if (auto why = etcd::WhyNoDeployment(options.name)) return why;
  if (options.timeout < kShortest || options.silence < kShortest) {
    return "timeout and silence must be at least 1ms";
  }
  return std::nullopt;
}

}  // namespace

Result<std::unique_ptr<EtcdLeases>> EtcdLeases::Open(const EtcdLeasesOptions& options,
                                                     const asio::any_io_executor& executor,
                                                     Diagnostics* diagnostics) {
  if (const auto why = WhyNot(options)) return Fail(Errc::kBadUrl, "etcd: " + *why, diagnostics);
  return std::unique_ptr<EtcdLeases>(new EtcdLeases(std::make_shared<Engine>(options, executor)));
}

EtcdLeases::EtcdLeases(std::shared_ptr<Engine> engine) : engine_(std::move(engine)) {}

EtcdLeases::~EtcdLeases() {
  engine_->Close();
  pending_.Close();
}

std::shared_ptr<PendingCall<Errc>> EtcdLeases::AddCall(Handler handler) {
  return pending_.AddErrc(std::move(handler), Errc::kUnknown);
}

void EtcdLeases::Join(const LeaseMember& member, JoinHandler handler) {
  if (!IsValid(member)) return handler(Errc::kBadOptions, 0);
  auto call = pending_.AddResult<SessionId>(std::move(handler), Errc::kUnknown);
  engine_->Start(Engine::Kind::kChange, call,
                 [member](Engine& engine, Gateway& gateway) -> asio::awaitable<Result<SessionId>> {
                   const auto entered = co_await Enter(gateway, engine.keys(), member);
                   if (!entered) co_return entered.error();
                   engine.deployment = entered->deployment;
                   co_return co_await Begin(gateway, engine.keys(), member, entered->created);
                 });
}

void EtcdLeases::KeepAlive(SessionId session, Handler handler) {
  engine_->Start(Engine::Kind::kRenewal, AddCall(std::move(handler)),
                 [session](Engine&, Gateway& gateway) {
                   return Ask(gateway, etcd::KeepLeaseAlive(session), RenewalOf);
                 });
}

void EtcdLeases::Leave(SessionId session, Handler handler) {
  engine_->Start(Engine::Kind::kChange, AddCall(std::move(handler)),
                 [session](Engine&, Gateway& gateway) {
                   return Ask(gateway, etcd::RevokeLease(session), LeavingOf);
                 });
}

void EtcdLeases::Acquire(SessionId session, RangeId range, AcquireHandler handler) {
  auto call = pending_.AddResult<std::optional<Epoch>>(std::move(handler), Errc::kUnknown);
  engine_->Start(Engine::Kind::kChange, call, [session, range](Engine& engine, Gateway& gateway) {
    return Take(gateway, engine.keys(), engine.deployment, session, range);
  });
}

void EtcdLeases::Release(SessionId session, RangeId range, Epoch epoch, Handler handler) {
  engine_->Start(Engine::Kind::kChange, AddCall(std::move(handler)),
                 [session, range, epoch](Engine& engine, Gateway& gateway) {
                   return Free(gateway, engine.keys(), engine.deployment, session, range, epoch);
                 });
}

LeaseService::Watch EtcdLeases::WatchTable(LeaseService::TableHandler handler) {
  return engine_->WatchTable(std::move(handler));
}

Result<std::unique_ptr<LeaseService>> EtcdLeases::OpenUrl(const StoreUrl& url,
                                                          const asio::any_io_executor& executor,
                                                          Diagnostics* diagnostics) {
  EtcdLeasesOptions options;
  for (std::string_view left = url.authority; !left.empty();) {
    const std::size_t comma = std::min(left.find(','), left.size());
    options.endpoints.emplace_back(left.substr(0, comma));
    left.remove_prefix(std::min(comma + 1, left.size()));
  }
  if (url.path.size() > 1) options.name = url.path.substr(1);
  UrlOptionReader reader(url);
  reader.Duration("timeout", options.timeout, kShortest);
  reader.Duration("silence", options.silence, kShortest);
  if (const std::optional<std::string> error = reader.Finish())
    return BadUrl(*error, kUrlSyntax, diagnostics);
  return Open(options, executor, diagnostics);
}

}  // namespace stout
