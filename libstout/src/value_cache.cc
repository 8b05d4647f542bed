#include "value_cache.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/hash.h"

namespace stout::internal {
namespace {

// Returns the bytes that a block of `size` takes in glibc's heap, with its header.
constexpr std::size_t BlockBytes(std::size_t size) {
  return std::max<std::size_t>(32, (size + 8 + 15) / 16 * 16);
}

// Returns the heap bytes of a string.
std::size_t HeapBytes(const std::string& string) {
  static const std::size_t inside = std::string().capacity();
  return string.capacity() > inside ? BlockBytes(string.capacity() + 1) : 0;
}

// A value that counts as lent, except while a cache holds it: see ValueCache::Set and Drop.
struct Value {
  Value(std::string text, std::shared_ptr<Ledger> books)
      : bytes(std::move(text)), ledger(std::move(books)) {
    ledger->Add(SizeOf(bytes));
  }
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;
  ~Value() { ledger->Subtract(SizeOf(bytes)); }

  // Returns the bytes of a value: the object, its reference counts, and the text.
  static std::size_t SizeOf(const std::string& text);

  const std::string bytes;
  const std::shared_ptr<Ledger> ledger;
};

std::size_t Value::SizeOf(const std::string& text) {
  return BlockBytes(2 * sizeof(void*) + sizeof(Value)) + HeapBytes(text);
}

}  // namespace

// Returns the bytes of a key and its value, with its share of the tables: two to four cells, and at
// most two pointers per key.
std::size_t ValueCache::SizeOf(const Node& node) {
  constexpr std::size_t kTables = 3 * KeyIndex::kCellBytes + 2 * sizeof(void*);
  const std::size_t value = node.entry.value ? Value::SizeOf(*node.entry.value) : 0;
  return BlockBytes(sizeof(Node)) + kTables + HeapBytes(node.key) + value;
}

ValueCache::~ValueCache() {
  EraseIf([](KeyView) { return true; });
}

ValueCache::Node* ValueCache::NodeOf(KeyView key, std::uint32_t hash) const {
  const auto slot =
      index_.Find(hash, [&](KeyIndex::Slot each) { return nodes_[each]->key == key; });
  return slot == KeyIndex::kNone ? nullptr : nodes_[slot].get();
}

// If memory runs out, a hole is lost.
ValueCache::Node& ValueCache::Add(KeyView key, std::uint32_t hash) {
  auto node = std::make_unique<Node>();
  node->hash = hash;
  node->key = key;
  if (holes_.empty()) {
    nodes_.emplace_back();
    holes_.reserve(nodes_.capacity());  // Erase needs no memory
    node->slot = static_cast<KeyIndex::Slot>(nodes_.size() - 1);
  } else {
    node->slot = holes_.back();
    holes_.pop_back();
  }
  admission_.Charge(node->tenant, 0);  // Set needs no memory after this
  index_.Insert(hash, node->slot);
  return *(nodes_[node->slot] = std::move(node));
}

const ValueCache::Entry* ValueCache::Use(KeyView key, const FetchOptions& options) {
  Node* const found = NodeOf(key, HashOf(key));
  if (found == nullptr) return nullptr;
  Node& node = *found;
  if (!options.counted) Observe(node, options.tenant, true);
  if (node.is_guest && (options.counted || !Admits(options.tenant))) {
    if (!options.ahead) MoveToGuests(node);
  } else if (!options.counted) {
    order_.Use(node);
    node.is_guest = false;
  }
  return &node.entry;
}

const ValueCache::Entry* ValueCache::Find(KeyView key) const {
  const Node* const found = NodeOf(key, HashOf(key));
  return found == nullptr ? nullptr : &found->entry;
}

// Each step of a look-up waits for memory and finds the place of the next step. So each step is
// taken for all keys before the next step, and the waits overlap.
void ValueCache::Prefetch(std::span<const KeyView> keys) const {
  constexpr std::size_t kTogether = 64;  // their memory fits the caches of one core
  std::array<std::uint32_t, kTogether> hashes;
  std::array<const std::unique_ptr<Node>*, kTogether> nodes;
  while (!keys.empty()) {
    const std::span some = keys.first(std::min(keys.size(), kTogether));
    keys = keys.subspan(some.size());
    for (std::size_t i = 0; i < some.size(); ++i) {
      hashes[i] = HashOf(some[i]);
      index_.Prefetch(hashes[i]);
    }
    std::size_t found = 0;
    for (std::size_t i = 0; i < some.size(); ++i) {
      // The first slot with the hash is mostly that of the key. A comparison would wait for a node.
      const auto slot = index_.Find(hashes[i], [](KeyIndex::Slot) { return true; });
      if (slot == KeyIndex::kNone) continue;
      nodes[found] = &nodes_[slot];
      __builtin_prefetch(nodes[found++]);
    }
    for (std::size_t i = 0; i < found; ++i) nodes[i]->get()->Prefetch();
    for (std::size_t i = 0; i < found; ++i) nodes[i]->get()->PrefetchTexts();
    for (std::size_t i = 0; i < found; ++i) nodes[i]->get()->PrefetchValue();
  }
}

// Serialize is mostly called in the order of the changes, which is also the order of the LRU. The
// call for the previous node has loaded the next node, so its members cost no wait here.
void ValueCache::PrefetchNext(Node& node) {
  Node* const next = order_.After(node);
  if (next == nullptr) return;
  index_.Prefetch(next->hash);
  __builtin_prefetch(&nodes_[next->slot]);
  next->PrefetchTexts();
  if (Node* const second = order_.After(*next)) second->Prefetch();
}

Serialized ValueCache::Serialize(KeyView key, std::string& out) {
  Node* const node = NodeOf(key, HashOf(key));
  // Memory ran out after the key was marked. It must not be deleted for that.
  if (node == nullptr) return Serialized::kFailed;
  PrefetchNext(*node);
  if (!node->entry.value) return Serialized::kAbsent;
  out = *node->entry.value;
  return Serialized::kValue;
}

std::shared_ptr<const std::string> ValueCache::MakeValue(std::string text) const {
  const auto value = std::make_shared<const Value>(std::move(text), ledger_);
  return {value, &value->bytes};
}

ValueCache::Node& ValueCache::Set(KeyView key, Entry entry) {
  const std::uint32_t hash = HashOf(key);
  Node* const found = NodeOf(key, hash);
  if (found != nullptr) order_.Remove(*found);
  Node& node = found != nullptr ? *found : Add(key, hash);
  Drop(node.entry);
  node.entry = std::move(entry);
  if (node.entry.value) ledger_->Subtract(Value::SizeOf(*node.entry.value));
  Resize(node, SizeOf(node));
  return node;
}

void ValueCache::Enter(Node& node, const FetchOptions& options) {
  if (!options.counted) Observe(node, options.tenant, false);
  Stay(node);
  node.is_guest = full() && !Admits(options.tenant);
  // Guests that were used are evicted first. Guests that are read ahead therefore displace other
  // keys only until there are as many of them as the tenant reads ahead.
  if (node.is_guest && !options.ahead) node.segment = Node::Segment::kGuest;
}

void ValueCache::MoveToGuests(Node& node) {
  order_.Remove(node);
  node.segment = Node::Segment::kGuest;
  order_.Insert(node);
}

void ValueCache::Stay(Node& node) {
  node.is_guest = false;
  if (node.segment == Node::Segment::kGuest) node.segment = Node::Segment::kProbation;
}

void ValueCache::Observe(Node& node, TenantId tenant, bool hit) {
  if (tenants_) tenants_->ApplyTo(admission_, &obeyed_);
  if (half_full()) {
    admission_.Observe(tenant, node.hash, node.bytes, hit);
  } else {
    admission_.Count(tenant, hit);
  }
  if (node.tenant != tenant) Account(node, tenant);
}

// Charges the node to another tenant.
void ValueCache::Account(Node& node, TenantId tenant) {
  const std::size_t bytes = node.bytes;
  Resize(node, 0);
  node.tenant = tenant;
  Resize(node, bytes);
}

void ValueCache::Resize(Node& node, std::size_t bytes) {
  const auto grown = static_cast<std::ptrdiff_t>(bytes - node.bytes);
  admission_.Charge(node.tenant, grown);
  bytes_ += static_cast<std::size_t>(grown);
  node.bytes = bytes;
}

// Releases the entry's value. From now on it counts as lent, because a caller may hold it.
void ValueCache::Drop(Entry& entry) {
  if (!entry.value) return;
  ledger_->Add(Value::SizeOf(*entry.value));
  entry.value = nullptr;
}

void ValueCache::Erase(KeyView key) {
  Node* const found = NodeOf(key, HashOf(key));
  if (found != nullptr) Erase(*found);
}

void ValueCache::Erase(Node& node) {
  order_.Remove(node);
  Resize(node, 0);
  Drop(node.entry);
  index_.Erase(node.hash, node.slot);
  holes_.push_back(node.slot);
  nodes_[node.slot] = nullptr;
}

}  // namespace stout::internal
