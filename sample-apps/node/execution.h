#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "node/deadlines.h"
#include "node/limits.h"
#include "node/request.h"
#include "resp/server/reply_writer.h"
#include "stout/adapters/range_server.h"
#include "stout/core/range_record.h"
#include "stout/core/types.h"
#include "stout/key_map.h"
#include "stout/unique_function.h"

namespace stout::node {

/// Carries out commands on keys of one range, in order, on the strand of its map.
///
/// A command takes each of its keys in one turn of the strand, so a change depends on the newest
/// state of its key. If the keys are in memory, all commands are one turn. A key that is not in
/// memory is read from the store, and other clients may change keys meanwhile. EXEC first has all
/// its keys read, and then takes one turn.
///
/// Invariant: it is done when all keys that its replies reveal are durable. A command whose keys
/// cannot become durable is answered with an error, and so is one that there is no memory for. A
/// command that changed nothing because the range is no longer this node's is `displaced`.
///
/// Owner: outlives the call of `done`, or the run() of the map's context.
/// Threads: Start on the strand of the map. Between Start and `done` nobody touches it, the
///   requests and `replies`.
class Execution {
 public:
  /// `requests` are all on keys, and outlive it with their arguments. The replies are appended to
  /// `replies`. A value with which they would exceed the limit is answered with an
  /// error.
  Execution(RangeServer::Served served, std::span<Request* const> requests, const Limits& limits,
            Deadlines& deadlines, resp::Resp version, std::string& replies);
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  /// Calls `done` once, on the strand.
  void Start(UniqueFunction<void()> done);

  /// The range, if another node has taken it over; otherwise null.
  [[nodiscard]] const ServedRange* fenced() const { return fenced_ ? served_.get() : nullptr; }
  /// For causal reads: a time before which all states were made that were seen. Nullopt: some may
  /// have been made just now.
  [[nodiscard]] std::optional<TimePoint> seen() const {
    return saw_new_ ? std::nullopt : std::optional(mark_.time);
  }

 private:
  // Loads the keys of all commands into the processor's caches. Those of blind writes are among
  // them, because a change looks up the older state of its key.
  void Prefetch();
  [[nodiscard]] std::size_t WarmedAtOnce() const;
  // Begins the reads of the next keys that are not in memory, so that the store gets them in one
  // batch. Each key is read ahead once. In a shared range, commands wait until the reads end.
  void Warm();
  void ReadAhead(const Request& request, KeyView key);
  // In one turn, carries out commands until one needs a key that is not in memory.
  void Continue();
  // Returns false if the command waits for the read of a key.
  bool Run(Request& request);
  bool RunOnEachKey(Request& request);
  bool RunExec(Request& request);
  bool RunPage(Request& request);
  void ShowPage(Request& request, const KeyPage& page);
  // Returns true if all keys of the transaction are in memory in this turn, or cannot be. Otherwise
  // begins to read them.
  bool Gather(Request& request);
  void RunQueued(Request& request);
  [[nodiscard]] std::optional<KeyMap::Entry> Look(const Request& request, KeyView key);
  void RunOnKey(Request& request, KeyView key, const KeyMap::Entry& entry);
  void Fail(Request& request, ErrorCode why);
  // Holds the replies until the keys that the command has revealed so far are durable.
  void Reveal(Request& request, bool in_exec = false);
  void OnNotDurable(Request& request, bool in_exec, ErrorCode ec);
  void Arrive();

  const RangeServer::Served served_;
  KeyMap& map_;
  const std::span<Request* const> requests_;
  const Limits limits_;
  Deadlines& deadlines_;
  const resp::Resp version_;
  std::string& replies_;
  UniqueFunction<void()> done_;
  bool fenced_ = false;
  Mark mark_;                // the range's last one, if a reader asks for new ones
  bool saw_new_ = false;     // a state that it does not cover
  std::size_t waiting_ = 1;  // safe replies that are due, and 1 until all commands are carried out

  std::int64_t now_ = 0;  // the time of this turn

  // Keys whose reads were counted, and that were not used yet.
  // Invariant: of a shared range, Look sees only keys here whose reads have ended.
  std::set<KeyView> read_;
  std::size_t reads_ = 0;  // under way, and commands wait for all of them

  // How far keys have been read ahead: the command, and the number of its keys.
  std::pair<std::size_t, std::size_t> warmed_;
  std::size_t looked_ = 0;        // values that were used
  std::size_t looked_bytes_ = 0;  // their sizes

  // The command that is carried out.
  std::size_t next_ = 0;
  std::size_t key_ = 0;     // its next argument
  std::int64_t count_ = 0;  // the keys that it found
  ErrorCode read_failed_;
  int rounds_ = 0;  // of reads for its next key, or for the keys of EXEC
  std::vector<KeyView> revealed_;

  std::optional<KeyPage> page_;  // for the STOUT.PAGE that is carried out

  // The states of the keys of the EXEC that is carried out. A change in its turn may evict them.
  std::map<KeyView, KeyMap::Entry> held_;
};

}  // namespace stout::node
