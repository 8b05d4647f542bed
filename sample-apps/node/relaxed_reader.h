#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "node/limits.h"
#include "node/node_service.h"
#include "node/request.h"
#include "node/table.h"
#include "resp/server/session.h"
#include "stout/core/batch.h"
#include "stout/core/range_record.h"
#include "stout/core/registry_table.h"
#include "stout/core/relaxed_reads.h"
#include "stout/core/types.h"

namespace stout::node {

/// Carries out the relaxed reads of one connection: at members of the ranges, or at the store that
/// all nodes share, without the owners of the ranges.
///
/// Owner: its connection.   Threads: the connection's.
class RelaxedReader {
 public:
  /// All outlive it. `table`, `room`: as of Router. `seen`: by the connection.
  RelaxedReader(NodeService& service, Table* const& table, internal::CausalToken& seen,
                const resp::Session& session, ReplyRoom& room)
      : service_(service),
        table_(table),
        seen_(seen),
        session_(session),
        room_(room),
        reads_(session.id) {}

  /// Returns true if a member may answer the command, which is on keys.
  [[nodiscard]] static bool Suits(const Request& request);

  /// Answers the requests. Those that no member can answer now are left for the owner; the others
  /// are `served`. Their replies are valid until Clear().
  [[nodiscard]] boost::asio::awaitable<void> Run(std::span<Request> requests);
  void Clear() { replies_ = {}; }

  /// Chooses the members anew.
  void Forget() { reads_.Forget(); }

 private:
  struct Question;
  struct Source;
  using Questions = std::map<std::string, std::shared_ptr<Question>>;
  using Sources = std::map<RangeId, Source>;

  // Chooses where to read a range, and adds that to the questions.
  [[nodiscard]] Source SourceOf(RangeId range, TenantId tenant, const RegistryTable* records,
                                Questions& questions);
  [[nodiscard]] static boost::asio::awaitable<ReadResult> Read(std::shared_ptr<Question> question);
  [[nodiscard]] boost::asio::awaitable<void> Ask(std::shared_ptr<Question> question);
  void Answer(Request& request, const Sources& sources, TimePoint asked, const Limits& limits);
  [[nodiscard]] bool IsFresh(const Request& request, const Source& source, TimePoint asked) const;

  NodeService& service_;
  Table* const& table_;
  internal::CausalToken& seen_;
  const resp::Session& session_;
  ReplyRoom& room_;
  const Table* read_ = nullptr;  // the table of reads_
  internal::RelaxedReads reads_;
  std::size_t unread_ = 0;  // bytes that may still be read
  std::string replies_;
};

}  // namespace stout::node
