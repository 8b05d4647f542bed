#include "stout/write_back_map.h"

#include <boost/asio/post.hpp>
#include <boost/intrusive/list.hpp>
#include <iterator>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace stout {
namespace {

struct KeyHash {
  using is_transparent = void;
  std::size_t operator()(KeyView key) const { return std::hash<KeyView>{}(key); }
};

}  // namespace

struct WriteBackMap::State : std::enable_shared_from_this<State> {
  /// A key in memory. Absent keys are remembered too: asking twice reads the store once.
  struct Node : boost::intrusive::list_base_hook<> {
    Entry entry;
    const std::string* key = nullptr;  // in `nodes`, whose elements do not move
  };
  using Nodes = std::unordered_map<std::string, Node, KeyHash, std::equal_to<>>;
  /// Dirty keys met when room is needed before giving up: they cannot be dropped.
  static constexpr int kEvictionTries = 16;

  State(const boost::asio::any_io_executor& executor, Store& store, WriteBackMapOptions options)
      : store(store),
        cache_bytes(options.cache_bytes),
        interposer(
            executor, store,
            {.serialize = [this](KeyView key, std::string& out) { return Serialize(key, out); },
             .on_refused = [this](KeyView key, ErrorCode) { Forget(key); },
             .on_fenced = [this](LaneId lane) { ForgetLane(lane); }},
            std::move(options.engine)) {}

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
      bytes += key.size();
    }
    Node& node = found->second;
    bytes -= SizeOf(node.entry);
    bytes += SizeOf(entry);
    node.entry = std::move(entry);
    Touch(node);
    MakeRoom();
  }

  void Touch(Node& node) { recent.splice(recent.end(), recent, recent.iterator_to(node)); }

  void MakeRoom() {
    for (int tries = 0; tries < kEvictionTries && bytes > cache_bytes && recent.size() > 1;) {
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
    bytes -= node->first.size() + SizeOf(node->second.entry);
    recent.erase(recent.iterator_to(node->second));
    nodes.erase(node);
  }

  // What the store refused is not true: the next Get reads what is.
  void Forget(KeyView key) {
    const auto found = nodes.find(key);
    if (found != nodes.end() && !interposer.IsDirty(key)) Erase(found);
  }

  // The other lanes' keys stay: dirty ones exist nowhere else.
  void ForgetLane(LaneId lane) {
    for (auto node = nodes.begin(); node != nodes.end();) {
      const auto next = std::next(node);
      if (store.PartitionOf(node->first) == lane) Erase(node);
      node = next;
    }
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
    interposer.Fetch(key, [weak = weak_from_this(), key = std::string(key),
                           handler = std::move(handler)](ErrorCode ec, StoredState read) mutable {
      const auto self = weak.lock();
      if (!self && !ec) ec = Errc::kClosed;
      handler(ec, ec ? Entry{} : self->Learn(key, std::move(read)));
    });
  }

  // What was put while the read was under way is newer than what it brings.
  Entry Learn(const std::string& key, StoredState read) {
    if (const auto found = nodes.find(key); found != nodes.end()) return found->second.entry;
    Entry entry{.value = nullptr, .stamp = read.stamp};
    if (read.found) entry.value = std::make_shared<const std::string>(std::move(read.value));
    Keep(key, entry);
    return entry;
  }

  static std::size_t SizeOf(const Entry& entry) { return entry.value ? entry.value->size() : 0; }

  Store& store;
  std::size_t cache_bytes;
  Nodes nodes;
  boost::intrusive::list<Node> recent;  // least recently used first
  std::size_t bytes = 0;
  Interposer interposer;
};

WriteBackMap::WriteBackMap(const boost::asio::any_io_executor& executor, Store& store,
                           WriteBackMapOptions options)
    : state_(std::make_shared<State>(executor, store, std::move(options))) {}

WriteBackMap::~WriteBackMap() = default;

WriteBackMap::Executor WriteBackMap::get_executor() const {
  return state_->interposer.get_executor();
}

Result<Stamp> WriteBackMap::Put(KeyView key, std::string value) {
  return state_->Change(key, std::make_shared<const std::string>(std::move(value)));
}

Result<Stamp> WriteBackMap::Delete(KeyView key) { return state_->Change(key, nullptr); }

void WriteBackMap::Get(KeyView key, GetHandler handler) { state_->Get(key, std::move(handler)); }

std::optional<WriteBackMap::Entry> WriteBackMap::Peek(KeyView key) {
  const auto found = state_->nodes.find(key);
  if (found == state_->nodes.end()) return std::nullopt;
  state_->Touch(found->second);
  return found->second.entry;
}

Interposer& WriteBackMap::interposer() { return state_->interposer; }

std::size_t WriteBackMap::cached_bytes() const { return state_->bytes; }

}  // namespace stout
