#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "connection.h"
#include "layout.h"
#include "stout/core/batch.h"
#include "stout/error.h"

namespace stout::redis {

// The replication that a batch waits for before it counts as written.
struct Replication {
  std::size_t replicas = 0;
  bool on_disk = false;  // on the disks of the replicas and of the server: WAITAOF
  std::chrono::milliseconds timeout{};

  void Append(Commands* commands) const;
  // `last`: the last answer to what Append() adds.
  [[nodiscard]] bool Reached(const Reply& last) const;
};

// A batch as it is sent to one server, whole. It does not need the batch any more.
struct EncodedWrite {
  EncodedWrite(const WriteBatch& batch, const Layout& layout);

  Commands commands;
  std::size_t bytes;
  bool alone;                          // as in the batch
  std::vector<std::uint32_t> items;    // that are sent
  std::vector<std::uint32_t> refused;  // the others
  bool fenced;                         // The batch has a fence.
  Epoch epoch;
};

// A read as it is sent to one server.
struct EncodedRead {
  EncodedRead(const ReadBatch& batch, const Layout& layout);

  Commands commands;
  std::size_t keys;
  std::size_t bytes;  // The size of values is a guess.
  bool alone = false;
};

// Each is one round trip, or two for reads where the first left open who is master.

// Writes each batch by itself, and waits once for the replication of all. Before them it notes the
// largest of their epochs, if this connection has not noted it yet. Returns a result for each
// batch. After an answer of another shape than the commands', all are kUnknown.
[[nodiscard]] boost::asio::awaitable<std::vector<WriteResult>> Write(
    Connection& connection, const Layout& layout, const Replication& replication,
    std::span<const EncodedWrite* const> writes);
// Runs commands that write nothing on a master. Returns a reply for each command, or no reply if
// the connection failed or the server is a replica.
[[nodiscard]] boost::asio::awaitable<std::vector<Reply>> RunOnMaster(Connection& connection,
                                                                     const Layout& layout,
                                                                     const Commands& commands);
// Reads from a master only. A replica may lag, and then a new owner of the keys would start from an
// old state. Returns a result for each batch.
[[nodiscard]] boost::asio::awaitable<std::vector<ReadResult>> Read(
    Connection& connection, const Layout& layout, std::span<const EncodedRead* const> reads);
// Fails with kTransient.
[[nodiscard]] boost::asio::awaitable<Result<Epoch>> NewEpoch(Connection& connection,
                                                             const Layout& layout,
                                                             const Replication& replication);
// kOk, kFenced or kTransient.
[[nodiscard]] boost::asio::awaitable<Errc> Fence(Connection& connection, const Layout& layout,
                                                 const Replication& replication, const Scope& scope,
                                                 Epoch epoch);

}  // namespace stout::redis
