#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node/key_walk.h"
#include "node/request.h"
#include "node/transaction.h"
#include "resp/server/reply_writer.h"
#include "resp/server/service.h"
#include "stout/unique_function.h"
#include "stout/write_back_map.h"

namespace stout::node {

/// Carries out the key commands of one batch, in order, on the strand of the map.
///
/// A command takes each of its keys in one turn of the strand, so a change depends on the newest
/// state of its key. If the keys are in memory, the whole batch is one turn. A key that is not in
/// memory is read from the store, and other clients may change keys meanwhile. EXEC first has all
/// its keys read, and then takes one turn.
///
/// Invariant: the batch is done when all keys that its replies reveal are durable. A command whose
/// keys cannot become durable is answered with an error.
///
/// Owner: outlives the call of `done`, or the run() of the map's context.
/// Threads: Start on the strand of the map. The other members on the connection's thread, but not
///   between Start and `done`.
class Execution {
 public:
  /// The arguments outlive it. A value with which the replies would exceed `limits.max_replies` is
  /// answered with an error.
  Execution(WriteBackMap& map, KeyWalk walk, const resp::ConnectionLimits& limits,
            Transaction& transaction)
      : map_(map), limits_(limits), transaction_(transaction), walk_(std::move(walk)) {}
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  /// Calls `done` once, on the strand. `requests` are not touched meanwhile.
  void Start(std::span<Request> requests, resp::Resp version, UniqueFunction<void()> done);

  [[nodiscard]] const std::string& replies() const { return replies_; }
  /// Returns true if another node has taken over the keys of a command of this batch.
  [[nodiscard]] bool fenced() const { return fenced_; }
  void Clear();

 private:
  // Begins the reads of all keys that are not in memory, so that the store gets them in one batch.
  void Warm();
  // Carries out commands until one needs a key that is not in memory.
  void Continue();
  // Returns false if the command waits for the read of a key.
  bool Run(Request& request);
  bool RunOnEachKey(Request& request);
  bool RunExec(Request& request);
  // Returns true if all keys of the transaction are in memory in this turn, or cannot be. Otherwise
  // begins to read them.
  bool Gather(Request& request);
  void RunQueued(Request& request);
  [[nodiscard]] std::optional<WriteBackMap::Entry> Look(KeyView key);
  void RunOnKey(Request& request, KeyView key, const WriteBackMap::Entry& entry);
  void Fail(Request& request, ErrorCode why);
  // Holds the batch until the keys that the command has revealed so far are durable.
  void Reveal(Request& request);
  void Arrive();

  WriteBackMap& map_;
  const resp::ConnectionLimits& limits_;
  Transaction& transaction_;
  KeyWalk walk_;
  bool fenced_ = false;
  bool walked_ = false;  // the command that is carried out has its reply
  std::span<Request> requests_;
  resp::Resp version_ = resp::Resp::k2;
  UniqueFunction<void()> done_;
  std::string replies_;
  std::size_t waiting_ = 0;  // safe replies that are due, and 1 until all commands are carried out

  // The command that is carried out.
  std::size_t next_ = 0;
  std::size_t key_ = 0;     // its next argument
  std::int64_t count_ = 0;  // the keys that it found
  ErrorCode read_failed_;
  int rounds_ = 0;        // of reads for its next key, or for the keys of EXEC
  bool changed_ = false;  // it has changed a key
  std::vector<KeyView> revealed_;

  // The states of the keys of the EXEC that is carried out. A change in its turn may evict them.
  std::map<KeyView, WriteBackMap::Entry> held_;
  std::size_t reads_ = 0;  // for it, under way
};

}  // namespace stout::node
