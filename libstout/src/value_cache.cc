#include "value_cache.h"

#include <algorithm>

namespace stout::internal {
namespace {

// Bytes that a block of `size` takes in glibc's heap, with its header.
constexpr std::size_t BlockBytes(std::size_t size) {
  return std::max<std::size_t>(32, (size + 8 + 15) / 16 * 16);
}

// The bytes that a string takes beside itself.
std::size_t HeapBytes(const std::string& string) {
  static const std::size_t inside = std::string().capacity();
  return string.capacity() > inside ? BlockBytes(string.capacity() + 1) : 0;
}

// A value that is lent, except while a cache holds it: see ValueCache::Set and Drop.
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

// The node of libstdc++, for its size.
struct ValueCache::NodeShape {
  void* next;
  Nodes::value_type value;
  std::size_t hash;
};

// The bytes that a key takes without its value, with its share of the buckets, of which there are
// up to two for each key.
std::size_t ValueCache::SizeOf(const std::string& key) {
  return BlockBytes(sizeof(NodeShape)) + 2 * sizeof(void*) + HeapBytes(key);
}

ValueCache::~ValueCache() {
  for (auto& [key, node] : nodes_) Drop(node.entry);
}

const ValueCache::Entry* ValueCache::Use(KeyView key) {
  const auto found = nodes_.find(key);
  if (found == nodes_.end()) return nullptr;
  Touch(found->second);
  return &found->second.entry;
}

const ValueCache::Entry* ValueCache::Find(KeyView key) const {
  const auto found = nodes_.find(key);
  return found == nodes_.end() ? nullptr : &found->second.entry;
}

Serialized ValueCache::Serialize(KeyView key, std::string& out) const {
  const Entry* const entry = Find(key);
  if (entry == nullptr || !entry->value) return Serialized::kAbsent;
  out = *entry->value;
  return Serialized::kValue;
}

std::shared_ptr<const std::string> ValueCache::MakeValue(std::string text) const {
  const auto value = std::make_shared<const Value>(std::move(text), ledger_);
  return {value, &value->bytes};
}

void ValueCache::Set(KeyView key, Entry entry) {
  auto found = nodes_.find(key);
  if (found == nodes_.end()) {
    found = nodes_.try_emplace(std::string(key)).first;
    found->second.key = &found->first;
    recent_.push_back(found->second);
    bytes_ += SizeOf(found->first);
  }
  Node& node = found->second;
  Drop(node.entry);
  node.entry = std::move(entry);
  if (node.entry.value) {
    bytes_ += Value::SizeOf(*node.entry.value);
    ledger_->Subtract(Value::SizeOf(*node.entry.value));
  }
  Touch(node);
}

// The entry holds its value no longer; a caller may.
void ValueCache::Drop(Entry& entry) {
  if (!entry.value) return;
  bytes_ -= Value::SizeOf(*entry.value);
  ledger_->Add(Value::SizeOf(*entry.value));
  entry.value = nullptr;
}

void ValueCache::Erase(KeyView key) {
  const auto found = nodes_.find(key);
  if (found != nodes_.end()) Erase(found);
}

void ValueCache::Erase(Nodes::iterator node) {
  bytes_ -= SizeOf(node->first);
  Drop(node->second.entry);
  recent_.erase(recent_.iterator_to(node->second));
  nodes_.erase(node);
}

}  // namespace stout::internal
