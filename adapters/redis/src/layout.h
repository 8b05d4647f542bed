#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocol.h"
#include "stout/adapters/redis_options.h"
#include "stout/core/batch.h"

namespace stout::redis {

// A question about one key.
enum class KeyQuery {
  kState,   // as AppendRead()
  kLength,  // bytes of the state, 0 if there is none
  kStamp,   // the state without its value
};

// The layout of states, epochs and fences in Redis: the commands for them, and the meaning of
// answers. A call concerns one server, and in a cluster one slot.
class Layout {
 public:
  // Bytes of a state before its value, where it is versioned.
  static constexpr std::size_t kHeader = 18;

  // INCR counts that far.
  static constexpr Epoch kLargestEpoch = std::numeric_limits<std::int64_t>::max();

  explicit Layout(const RedisOptions& options);

  // An application's key in Redis has this before it.
  [[nodiscard]] const std::string& prefix() const { return prefix_; }
  // A key that is never there. Reads delete it, see AppendMasterOnly(), so no state is kept in it.
  static constexpr std::string_view kNothing = "stout:nothing";

  [[nodiscard]] std::string EpochKey() const { return prefix_ + "stout:epoch"; }
  [[nodiscard]] std::string FenceKey(std::string_view scope) const;

  // Appends the commands that write `items` of a batch, given by their places, if `fence`, a key or
  // empty, does not forbid it.
  void AppendWrite(const WriteBatch& batch, std::span<const std::uint32_t> items,
                   std::string_view fence, Commands* commands) const;
  // Returns the outcome of the items. `replies` are the complete answers to the commands of
  // AppendWrite(). Returns nullopt if they are not exactly of the shape that the commands answer
  // in.
  [[nodiscard]] std::optional<WriteResult> DecodeWrite(std::span<const Reply> replies,
                                                       std::span<const std::uint32_t> items,
                                                       bool fenced) const;

  // A command that does nothing, and that only a master does: a replica answers READONLY.
  void AppendMasterOnly(Commands* commands) const;
  // One command, one answer.
  void AppendRead(std::span<const std::string* const> keys, Commands* commands) const;
  // Returns true if `reply` has the shape of the answer, for that number of keys. False for an
  // error.
  [[nodiscard]] static bool IsAnswerToRead(const Reply& reply, std::size_t keys);
  // Fills in the states of the keys, in their order. False: it is no answer to a read.
  [[nodiscard]] bool DecodeRead(Reply reply, std::span<StoredState* const> states) const;

  // SCAN from a cursor of Redis on. Returns about `count` keys.
  void AppendScan(std::string_view position, std::size_t count, Commands* commands) const;
  // Returns the application's key, or nullopt if this key of Redis is the store's own or another
  // program's. FenceKeyIn() adds keys in a cluster.
  [[nodiscard]] std::optional<std::string> KeyOf(std::string_view redis_key) const;
  // One command, one answer.
  void AppendQuery(KeyQuery query, const std::string& key, Commands* commands) const;
  // Reads the answer to KeyQuery::kStamp. Returns false if the key is gone.
  [[nodiscard]] bool DecodeStamp(Reply reply, StoredState* state) const;

  // One command each.
  void AppendNoteEpoch(Epoch epoch, Commands* commands) const;
  void AppendNewEpoch(Commands* commands) const;
  void AppendFence(std::string_view fence, Epoch epoch, Commands* commands) const;
  // Also sets the key `note` to `text`, unless the fence is newer. DecodeFence reads the answer.
  void AppendFenceAndNote(std::string_view fence, Epoch epoch, std::string_view note,
                          std::string_view text, Commands* commands) const;

  // The answers to these commands. Nullopt or false: an error, or of another shape.
  [[nodiscard]] static bool DecodeNoteEpoch(const Reply& reply);
  [[nodiscard]] static std::optional<Epoch> DecodeNewEpoch(const Reply& reply);
  // kOk or kFenced.
  [[nodiscard]] static std::optional<Errc> DecodeFence(const Reply& reply);
  // Returns true if the fence already had that epoch.
  [[nodiscard]] static bool HadFence(const Reply& reply);

 private:
  void AppendVersioned(const WriteBatch& batch, std::span<const std::uint32_t> items,
                       std::string_view fence, Commands* commands) const;
  void AppendPlain(const WriteBatch& batch, std::span<const std::uint32_t> items,
                   Commands* commands) const;

  const RedisMode mode_;
  const std::string prefix_;
  const std::string tombstone_ttl_ms_;
};

}  // namespace stout::redis
