#include "node/relaxed_reader.h"

#include <algorithm>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "node/commands.h"
#include "node/key_turn.h"
#include "node/run_together.h"
#include "resp/server/reply_writer.h"
#include "stout/clock.h"
#include "stout/completion.h"
#include "stout/core/batch.h"
#include "stout/core/range_actions.h"
#include "stout/store.h"
#include "stout/unique_function.h"

namespace stout::node {

namespace asio = boost::asio;

// Maximum clients' keys in one read. Their values are in memory before the room for replies is
// asked.
constexpr std::size_t kMaxAtOnce = 128;

// The keys that are read of one store, and their states.
struct RelaxedReader::Question {
  std::string datalet;
  Store* store = nullptr;
  std::string incarnation;              // of the store
  std::shared_ptr<const void> waiting;  // Cluster::Queue::own
  // Read in this order. A mark that is read after a client's key may cover changes that the state
  // lacks. An identity that is read before the key may be that of data which were lost meanwhile.
  ReadBatch marks{}, keys{}, identities{};
  std::map<KeyView, std::size_t> places;            // in `keys`
  ReadBatch batch{.id = 1, .lane = 0, .keys = {}};  // a part of all
  ReadResult result{};                              // the states of all

  static void Append(ReadBatch& to, const ReadBatch& from, std::size_t begin = 0,
                     std::size_t count = std::dynamic_extent) {
    const auto keys = std::span(from.keys).subspan(begin, count);
    const auto tenants = std::span(from.tenants).subspan(begin, count);
    to.keys.insert(to.keys.end(), keys.begin(), keys.end());
    to.tenants.insert(to.tenants.end(), tenants.begin(), tenants.end());
  }
  static std::size_t Add(ReadBatch& to, KeyView key, TenantId tenant) {
    to.keys.emplace_back(key);
    to.tenants.push_back(tenant);
    return to.keys.size() - 1;
  }
  [[nodiscard]] const StoredState& StateOf(KeyView key) const {
    return result.states[marks.keys.size() + places.at(key)];
  }
};

// Where a range is read.
struct RelaxedReader::Source {
  std::shared_ptr<Question> question;         // null: at the owner
  std::optional<RangeRecord::Member> member;  // nullopt: the store of all nodes
  std::size_t place = 0;                      // of the member's mark and identity
  Mark read_mark{.time = TimePoint::max()};   // a store of all nodes has all changes
  Epoch swept = 0;                            // of the RangeRecord
  Epoch shared = 0;                           // likewise
};

bool RelaxedReader::Suits(const Request& request) {
  return (request.command->flags & resp::CommandFlag::kReadonly) != 0 && request.keys() > 0 &&
         request.command->id != CommandId::kStoutStates && RowOf(*request.command).run != nullptr;
}

asio::awaitable<void> RelaxedReader::Run(std::span<Request> requests) {
  if (std::exchange(read_, table_) != table_) reads_.Forget();
  const MemberRanges* const members = table_->cluster->members;
  const auto records = members != nullptr ? members->records() : nullptr;
  const TimePoint asked = UnixTime();
  Questions questions;
  Sources sources;
  for (const Request& request : requests) {
    for (std::size_t i = 0; i < request.keys(); ++i) {
      const KeyView key = request.key(i);
      const RangeId range = table_->ranges.RangeOf(key);
      if (!sources.contains(range)) {
        sources[range] = SourceOf(range, request.tenant, records.get(), questions);
      }
      Question* const question = sources[range].question.get();
      if (question == nullptr || question->places.contains(key)) continue;
      question->places[key] = Question::Add(question->keys, key, request.tenant);
    }
  }
  unread_ = room_.left();
  std::vector<asio::awaitable<void>> all;
  for (const auto& each : questions) all.push_back(Ask(each.second));
  if (!all.empty()) co_await RunTogether(std::move(all));
  for (auto& [range, source] : sources) {
    if (!source.question || !source.member) continue;
    const auto& [errc, states, queue] = source.question->result;
    const std::size_t identities = source.question->identities.keys.size();
    if (errc == Errc::kOk && reads_.Accept(range, *source.member, source.question->incarnation,
                                           states[states.size() - identities + source.place])) {
      source.read_mark = internal::RelaxedReads::MarkOf(states[source.place]);
    } else {
      source.question = nullptr;
    }
  }
  const Limits limits{service_.limits.commands.max_bulk, room_};
  for (Request& request : requests) Answer(request, sources, asked, limits);
}

RelaxedReader::Source RelaxedReader::SourceOf(RangeId range, TenantId tenant,
                                              const RegistryTable* records, Questions& questions) {
  Cluster& cluster = *table_->cluster;
  Source source;
  if (records != nullptr) {
    const auto set = records->sets.find(range);
    if (set == records->sets.end()) return source;
    const auto own = std::find_if(
        records->datalets.begin(), records->datalets.end(),
        [&](const auto& datalet) { return datalet.second.value.node == cluster.self; });
    const auto* const member =
        reads_.Choose(range, set->second.value, own != records->datalets.end() ? own->first : "",
                      [&](const std::string& datalet) -> std::optional<std::size_t> {
                        if (cluster.members->StoreOf(datalet) == nullptr) return std::nullopt;
                        const Cluster::Queue& queue = cluster.queues[datalet];
                        return queue.length();
                      });
    if (member == nullptr) return source;
    source.member = *member;
    source.swept = set->second.value.swept;
    source.shared = set->second.value.shared;
  }
  const std::string datalet = source.member ? source.member->datalet : "";
  Store* const store = source.member ? cluster.members->StoreOf(datalet) : &table_->store;
  if (store == nullptr) return source;
  auto& question = questions[datalet];
  if (question == nullptr) {
    question = std::make_shared<Question>(Question{.datalet = datalet,
                                                   .store = store,
                                                   .incarnation = store->traits().incarnation,
                                                   .waiting = cluster.queues[datalet].own});
  }
  source.question = question;
  if (source.member) {
    const Scope scope = cluster.members->ScopeOf(range);
    // A store may also read each tenant's keys on their own.
    source.place = Question::Add(question->marks, internal::MarkKeyOf(scope), tenant);
    Question::Add(question->identities, internal::IdentityKeyOf(scope), tenant);
  }
  return source;
}

// The batch is the question's, because the store may need it longer than this connection lives.
asio::awaitable<ReadResult> RelaxedReader::Read(std::shared_ptr<Question> question) {
  co_return co_await Initiate<void(ReadResult)>(
      [&](UniqueFunction<void(ReadResult)> done) {
        question->store->Read(question->batch,
                              [question, done = std::move(done)](ReadResult result) mutable {
                                done(std::move(result));
                              });
      },
      asio::use_awaitable);
}

// The owner serves the requests for values that exceed the room for replies: some of these
// requests, such as EXISTS, reply with no value.
asio::awaitable<void> RelaxedReader::Ask(std::shared_ptr<Question> question) {
  const StoreTraits& traits = question->store->traits();
  ReadResult& result = question->result;
  const std::size_t marks = question->marks.keys.size();
  const std::size_t behind_keys = marks + question->keys.keys.size();
  ReadBatch all = question->marks;
  Question::Append(all, question->keys);
  Question::Append(all, question->identities);
  for (std::size_t next = 0; next < all.keys.size() && result.errc == Errc::kOk;) {
    // A store reads its partitions side by side.
    const bool marks_alone = traits.partitions > 1 && next < marks;
    std::size_t end = marks_alone ? marks : std::max(next, marks) + kMaxAtOnce;
    if (end >= behind_keys) end = all.keys.size();
    const std::size_t count = std::min(end - next, traits.max_batch_items);
    question->batch.keys.clear();
    question->batch.tenants.clear();
    Question::Append(question->batch, all, next, count);
    next += count;
    ReadResult part = co_await Read(question);
    result.errc = part.errc;
    result.queue = part.queue;
    for (StoredState& state : part.states) {
      if (state.value.size() > unread_) {
        result.errc = Errc::kTooLarge;
        break;
      }
      unread_ -= state.value.size();
      result.states.push_back(std::move(state));
    }
  }
  if (result.errc != Errc::kOk) {  // other stores may use the room
    for (const StoredState& state : result.states) unread_ += state.value.size();
    result.states.clear();
  }
  table_->cluster->queues[question->datalet].theirs = result.queue;
}

void RelaxedReader::Answer(Request& request, const Sources& sources, TimePoint asked,
                           const Limits& limits) {
  std::vector<const StoredState*> states;
  for (std::size_t i = 0; i < request.keys(); ++i) {
    const KeyView key = request.key(i);
    const Source& source = sources.at(table_->ranges.RangeOf(key));
    const auto& question = source.question;
    if (!question || question->result.errc != Errc::kOk) return;
    if (!IsFresh(request, source, asked)) return;
    states.push_back(&question->StateOf(key));
    // The next writes of this node must be newer than the states that it shows.
    if (source.shared != 0 && states.back()->stamp.epoch == source.shared)
      table_->cluster->members->clock().Observe(states.back()->stamp.version);
    if (states.back()->errc != Errc::kOk) return;
  }
  std::int64_t count = 0;
  const std::int64_t now = table_->deadlines.now();
  request.served = true;
  request.replies = &replies_;
  request.reply_begin = replies_.size();
  for (std::size_t i = 0; i < states.size() && request.error.empty(); ++i) {
    KeyTurn turn{.request = request,
                 .deadlines = table_->deadlines,
                 .limits = limits,
                 .replies = replies_,
                 .reply = resp::ReplyWriter(replies_, session_.version),
                 .count = count,
                 .now = now,
                 .key = request.key(i),
                 .index = i,
                 .stamp = states[i]->stamp};
    turn.Run(states[i]->found ? &states[i]->value : nullptr);
    const Source& source = sources.at(table_->ranges.RangeOf(request.key(i)));
    if (request.levels.causal) seen_.OnMember(states[i]->stamp, source.read_mark, UnixTime());
  }
  request.reply_end = replies_.size();
}

bool RelaxedReader::IsFresh(const Request& request, const Source& source, TimePoint asked) const {
  const Levels& levels = request.levels;
  if (levels.causal) return seen_.Accepts(source.read_mark, source.swept);
  return !levels.staleness || source.read_mark.time >= asked - *levels.staleness;
}

}  // namespace stout::node
