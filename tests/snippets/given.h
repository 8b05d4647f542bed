// The names that the examples in headers and documents use without declaring them.
#include <boost/asio.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <memory>
#include <string>
#include <vector>

#include "stout/adapters/faulty_store.h"
#include "stout/adapters/member_ranges.h"
#include "stout/adapters/memory_store.h"
#include "stout/adapters/open_lease_service.h"
#include "stout/adapters/open_store.h"
#include "stout/adapters/range_server.h"
#include "stout/core/admission.h"
#include "stout/core/engine.h"
#include "stout/core/hybrid_clock.h"
#include "stout/core/range_keeper.h"
#include "stout/core/relaxed_reads.h"
#include "stout/core/replica_set.h"
#include "stout/in_process_leases.h"
#include "stout/interposer.h"
#include "stout/lease_watcher.h"
#include "stout/leases.h"
#include "stout/registry.h"
#include "stout/replicated_map.h"
#include "stout/sharded.h"
#include "stout/tenants.h"
#include "stout/write_back_map.h"

namespace asio = boost::asio;
using namespace stout;            // NOLINT: the examples in headers stand in this namespace
using namespace stout::internal;  // NOLINT: so do those of the core

extern const ClusterConfig config;
extern const OwnDatalet own;
Result<std::unique_ptr<Store>> OpenDatalet(const std::string& url, Diagnostics* why);
extern asio::io_context context;
extern asio::thread_pool pool;
extern asio::any_io_executor executor;
extern Store& store;
extern EngineOptions options;
extern std::unique_ptr<LeaseService> service;
extern std::string key, other, value, document_id, id;
extern std::vector<std::string> keys;
extern WriteBatch batch;
// Declarations for a driver of the core.
extern LaneId lanes, lane;
extern Epoch epoch;
extern std::size_t bytes;
extern TimePoint now;
extern std::vector<KeyRef> refs;
extern ReplyId reply_id;
extern StateSource& source;
extern Effects effects;
// And of a cache that tenants share.
extern Admission& admission;
extern TenantId tenant;
extern std::uint64_t hash;
extern double uniform;
extern bool hit;
// And of a replicated range.
extern std::vector<Engine>& engines;
extern ReplicaSet& replicas;
extern RangeKeeper& keeper;
extern RangeRecord record;
extern Revision found;
extern Store& a;
extern Store& b;
extern KeyRef ref;
extern MemberIndex member;
extern Errc errc;
// And of a session that reads at members.
extern RelaxedReads session;
extern const RangeId range_id;
extern const std::string local, incarnation;
extern const RelaxedReads::QueueOf queue_of;
extern const StoredState identity;

// And of a node that writes to a shared range.
extern HybridClock versions;
extern std::uint64_t former;
extern const StoredState shown;
void Write(const std::string& key, Version version);

extern struct State { int& operator[](const std::string& key); } state;
extern struct Waiting { void TryAgain(); } waiting_requests;

Application MakeApplication();
void Answer(ErrorCode ec);
void AskOwner();
void CarryOut(const range::Action& action);
void Commit(RegistryChange change, ReplicatedRange::CommitHandler handler);
void Complain(const std::string& why);
void Forward(const std::string& owner);
void Keep();
void Misdirected(const std::optional<std::string>& owner);
void ReadAgain();
void Run(const RunReply& reply);
void Show(std::uint64_t hits, std::uint64_t misses, double share);
void Serve(RangeId range, Epoch epoch);
void Drain(RangeId range, LeaseHandlers::Done done);
void Drop(RangeId range);
