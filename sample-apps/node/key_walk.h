#pragma once

#include <cstdint>
#include <string>

#include "node/request.h"
#include "resp/server/reply_writer.h"
#include "resp/server/scan_cursors.h"
#include "stout/store.h"
#include "stout/unique_function.h"
#include "stout/write_back_map.h"

namespace stout::node {

/// The commands on all keys: SCAN, DBSIZE, FLUSHALL and FLUSHDB.
///
/// Each first makes all changes durable, and then lists the keys of the store in pages. Therefore
/// it finds every key that exists throughout, and it shows only durable keys.
///
/// Owner: outlives the call of `done`.   Threads: the strand of the map.
class KeyWalk {
 public:
  /// All outlive it.
  KeyWalk(WriteBackMap& map, Store& store, resp::ScanCursors& cursors)
      : map_(map), store_(store), cursors_(cursors) {}

  /// Returns true if the command is one of these.
  [[nodiscard]] static bool Runs(const Request& request);

  /// Carries out the command and calls `done` once. The reply is in `out` or in request.error.
  void Run(Request& request, std::string& out, resp::Resp version, UniqueFunction<void()> done);

 private:
  void Flush(void (KeyWalk::*next)());
  void ReadPage();
  void OnPage(ScanResult page);
  void ReplyToScan(const ScanResult& page);
  void Remove(const ScanResult& page);
  void ReplyOk();
  void Fail(Errc why);
  void Finish();

  WriteBackMap& map_;
  Store& store_;
  resp::ScanCursors& cursors_;

  // The command that is carried out.
  Request* request_ = nullptr;
  std::string* out_ = nullptr;
  resp::Resp version_ = resp::Resp::k2;
  UniqueFunction<void()> done_;
  ScanRequest scan_;
  std::int64_t count_ = 0;
  bool again_ = false;  // the page is to be read again
};

}  // namespace stout::node
