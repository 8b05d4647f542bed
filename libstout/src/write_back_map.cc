#include "stout/write_back_map.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/intrusive/list.hpp>
#include <iterator>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "stout/require.h"

namespace stout::inline v1 {
namespace {

struct KeyHash {
  using is_transparent = void;
  std::size_t operator()(KeyView key) const { return std::hash<KeyView>{}(key); }
};

// Bytes that a block of `size` takes in glibc's heap, with its header.
constexpr std::size_t BlockBytes(std::size_t size) {
  return std::max<std::size_t>(32, (size + 8 + 15) / 16 * 16);
}

// The bytes that a string takes beside itself.
std::size_t HeapBytes(const std::string& string) {
  static const std::size_t inside = std::string().capacity();
  return string.capacity() > inside ? BlockBytes(string.capacity() + 1) : 0;
}

// Counts the bytes of values that are alive although no map holds them.   Threads: any.
class Ledger {
 public:
  explicit Ledger(std::shared_ptr<std::atomic<std::size_t>> all) : all_(std::move(all)) {}

  void Add(std::size_t bytes) {
    lent_.fetch_add(bytes, std::memory_order_relaxed);
    if (all_) all_->fetch_add(bytes, std::memory_order_relaxed);
  }
  void Subtract(std::size_t bytes) {
    lent_.fetch_sub(bytes, std::memory_order_relaxed);
    if (all_) all_->fetch_sub(bytes, std::memory_order_relaxed);
  }
  [[nodiscard]] std::size_t lent() const { return lent_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::size_t> lent_ = 0;
  const std::shared_ptr<std::atomic<std::size_t>> all_;
};

// A value that is lent, except while a map holds it: see WriteBackMap::State::Keep and Drop.
struct Value {
  Value(std::string text, std::shared_ptr<Ledger> books)
      : bytes(std::move(text)), ledger(std::move(books)) {
    ledger->Add(SizeOf(bytes));
  }
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;
  ~Value() { ledger->Subtract(SizeOf(bytes)); }

  // Returns the bytes of a value: itself, the counts of its references, and the text.
  static std::size_t SizeOf(const std::string& text);

  const std::string bytes;
  const std::shared_ptr<Ledger> ledger;
};

std::size_t Value::SizeOf(const std::string& text) {
  return BlockBytes(2 * sizeof(void*) + sizeof(Value)) + HeapBytes(text);
}

}  // namespace

struct WriteBackMap::State : std::enable_shared_from_this<State> {
  /// A key in memory. Absent keys are remembered too: asking twice reads the store once.
  struct Node : boost::intrusive::list_base_hook<> {
    Entry entry;
    const std::string* key = nullptr;  // in `nodes`, whose elements do not move
  };
  using Nodes = std::unordered_map<std::string, Node, KeyHash, std::equal_to<>>;
  /// The Gets that wait for one read of the store: a read for each would have a copy of the state
  /// for each. The handler of the read owns it.
  using Waiting = std::vector<GetHandler>;
  // The node of libstdc++, for its size.
  struct NodeShape {
    void* next;
    Nodes::value_type value;
    std::size_t hash;
  };
  // With a key's share of the buckets, of which there are up to two for each key.
  static constexpr std::size_t kNodeBytes = BlockBytes(sizeof(NodeShape)) + 2 * sizeof(void*);
  /// Dirty keys met when room is needed before giving up: they cannot be dropped.
  static constexpr int kEvictionTries = 16;

  State(const boost::asio::any_io_executor& executor, Store& store, WriteBackMapOptions options)
      : store(store),
        cache_bytes(options.cache_bytes),
        max_waiting_gets(options.engine.lane.max_pending_reads),
        ledger(std::make_shared<Ledger>(std::move(options.lent_bytes))),
        interposer(
            executor, store,
            {.serialize = [this](KeyView key, std::string& out) { return Serialize(key, out); },
             .on_refused = [this](KeyView key, ErrorCode) { Forget(key); },
             .on_fenced = [this](LaneId lane) { ForgetLane(lane); },
             .on_lost = [this] { ForgetAll(); }},
            std::move(options.engine)) {}

  ~State() {
    for (auto& [key, node] : nodes) Drop(node.entry);
  }

  Serialized Serialize(KeyView key, std::string& out) {
    const auto found = nodes.find(key);
    if (found == nodes.end() || !found->second.entry.value) return Serialized::kAbsent;
    out = *found->second.entry.value;
    return Serialized::kValue;
  }

  Result<Stamp> Change(KeyView key, std::shared_ptr<const std::string> value) {
    const Result<Stamp> stamp = interposer.MarkDirty(key, value ? value->size() : 0);
    if (stamp) Keep(key, {std::move(value), *stamp});
    return stamp;
  }

  void Keep(KeyView key, Entry entry) {
    auto found = nodes.find(key);
    if (found == nodes.end()) {
      found = nodes.try_emplace(std::string(key)).first;
      found->second.key = &found->first;
      recent.push_back(found->second);
      bytes += SizeOf(found->first);
    }
    Node& node = found->second;
    Drop(node.entry);
    node.entry = std::move(entry);
    if (node.entry.value) {
      bytes += Value::SizeOf(*node.entry.value);
      ledger->Subtract(Value::SizeOf(*node.entry.value));
    }
    Touch(node);
    MakeRoom();
  }

  // The entry holds its value no longer; a caller may.
  void Drop(Entry& entry) {
    if (!entry.value) return;
    bytes -= Value::SizeOf(*entry.value);
    ledger->Add(Value::SizeOf(*entry.value));
    entry.value = nullptr;
  }

  std::shared_ptr<const std::string> MakeValue(std::string text) const {
    const auto value = std::make_shared<const Value>(std::move(text), ledger);
    return {value, &value->bytes};
  }

  void Touch(Node& node) { recent.splice(recent.end(), recent, recent.iterator_to(node)); }

  // To drop a key whose value a caller holds frees nothing, but the next one may.
  void MakeRoom() {
    for (int tries = 0; tries < kEvictionTries && recent.size() > 1;) {
      if (bytes + ledger->lent() <= cache_bytes) return;
      Node& oldest = recent.front();
      if (interposer.IsDirty(*oldest.key)) {
        Touch(oldest);
        ++tries;
      } else {
        Erase(nodes.find(*oldest.key));
      }
    }
  }

  void Erase(Nodes::iterator node) {
    bytes -= SizeOf(node->first);
    Drop(node->second.entry);
    recent.erase(recent.iterator_to(node->second));
    nodes.erase(node);
  }

  // The store refused this value, so it must not be shown: the next Get reads the store.
  void Forget(KeyView key) {
    const auto found = nodes.find(key);
    if (found != nodes.end() && !interposer.IsDirty(key)) Erase(found);
  }

  // The keys of the other lanes stay, because their dirty values exist only in memory.
  void ForgetLane(LaneId lane) {
    for (auto node = nodes.begin(); node != nodes.end();) {
      const auto next = std::next(node);
      if (store.PartitionOf(node->first) == lane) Erase(node);
      node = next;
    }
  }

  void ForgetAll() {
    while (!nodes.empty()) Erase(nodes.begin());
  }

  void Get(KeyView key, GetHandler handler) {
    if (const auto found = nodes.find(key); found != nodes.end()) {
      Touch(found->second);
      boost::asio::post(interposer.get_executor(),
                        [handler = std::move(handler), entry = found->second.entry]() mutable {
                          handler({}, std::move(entry));
                        });
      return;
    }
    std::weak_ptr<Waiting>& read = reads[std::string(key)];
    auto waiting = read.lock();
    if (waiting && waiting_gets >= max_waiting_gets) {
      return Fail(interposer.get_executor(), handler, Errc::kPushedBack);
    }
    const bool joins = waiting != nullptr;
    if (!joins) read = waiting = std::make_shared<Waiting>();
    waiting->push_back(std::move(handler));
    ++waiting_gets;
    if (joins) return;
    interposer.Fetch(key, [weak = weak_from_this(), executor = interposer.get_executor(),
                           key = std::string(key), waiting](ErrorCode ec, StoredState state) {
      const auto self = weak.lock();
      if (!self && !ec) ec = Errc::kClosed;
      if (self) self->EndRead(key, waiting->size());
      Entry entry = ec ? Entry{} : self->Learn(key, std::move(state));
      // Each of the others has a turn of its own, because a handler may throw.
      for (std::size_t i = 1; i < waiting->size(); ++i) {
        ec ? Fail(executor, (*waiting)[i], ec) : self->Get(key, std::move((*waiting)[i]));
      }
      waiting->front()(ec, std::move(entry));
    });
  }

  static void Fail(const Executor& executor, GetHandler& handler, ErrorCode ec) {
    boost::asio::post(executor, [handler = std::move(handler), ec]() mutable { handler(ec, {}); });
  }

  void EndRead(const std::string& key, std::size_t gets) {
    reads.erase(key);
    waiting_gets -= gets;
  }

  // A value that was put while the read was under way is newer than the value read.
  Entry Learn(const std::string& key, StoredState read) {
    if (const auto found = nodes.find(key); found != nodes.end()) return found->second.entry;
    Entry entry{.value = nullptr, .stamp = read.stamp};
    if (read.found) entry.value = MakeValue(std::move(read.value));
    Keep(key, entry);
    return entry;
  }

  void RequireStrand() const {
    internal::Require(strand.running_in_this_thread(),
                      "a WriteBackMap is used outside its strand: post the call to get_executor()");
  }

  // The bytes that a key takes without its value.
  static std::size_t SizeOf(const std::string& key) { return kNodeBytes + HeapBytes(key); }

  Store& store;
  std::size_t cache_bytes;
  const std::size_t max_waiting_gets;  // beyond it none joins another's read
  std::size_t waiting_gets = 0;
  std::unordered_map<std::string, std::weak_ptr<Waiting>> reads;
  Nodes nodes;
  boost::intrusive::list<Node> recent;  // least recently used first
  std::size_t bytes = 0;
  const std::shared_ptr<Ledger> ledger;
  Interposer interposer;
  const Executor strand = interposer.get_executor();
};

WriteBackMap::WriteBackMap(const boost::asio::any_io_executor& executor, Store& store,
                           WriteBackMapOptions options)
    : state_(std::make_shared<State>(executor, store, std::move(options))) {}

WriteBackMap::~WriteBackMap() = default;

WriteBackMap::Executor WriteBackMap::get_executor() const {
  return state_->interposer.get_executor();
}

Result<Stamp> WriteBackMap::Put(KeyView key, std::string value) {
  return state_->Change(key, state_->MakeValue(std::move(value)));
}

Result<Stamp> WriteBackMap::Delete(KeyView key) { return state_->Change(key, nullptr); }

void WriteBackMap::Get(KeyView key, GetHandler handler) {
  state_->RequireStrand();
  state_->Get(key, std::move(handler));
}

std::optional<WriteBackMap::Entry> WriteBackMap::Peek(KeyView key) {
  state_->RequireStrand();
  const auto found = state_->nodes.find(key);
  if (found == state_->nodes.end()) return std::nullopt;
  state_->Touch(found->second);
  return found->second.entry;
}

Interposer& WriteBackMap::interposer() { return state_->interposer; }

std::shared_ptr<const std::string> WriteBackMap::Lend(std::string value) {
  return state_->MakeValue(std::move(value));
}

std::size_t WriteBackMap::cached_bytes() const { return state_->bytes; }

std::size_t WriteBackMap::lent_bytes() const { return state_->ledger->lent(); }

}  // namespace stout::inline v1
