#include "joiner.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "resp/store/store_commands.h"

namespace stout::blowfish {
namespace {

// The reply to one command that shards have worked for.
class Joint {
 public:
  Joint(Batch& batch, const Request& request, Service& service, std::string& out)
      : batch_(batch),
        request_(request),
        service_(service),
        out_(out),
        reply_(out, batch.version),
        places_(std::span(batch.order).subspan(request.first_piece, request.pieces)) {}

  void Reply() {
    for (const Batch::Place place : places_) {
      const Piece& piece = batch_.PieceAt(place);
      if (!piece.error.empty()) return reply_.Error(piece.error);
    }
    switch (request_.spread) {
      case Spread::kNone:
        return;
      case Spread::kOneKey:
      case Spread::kOneShard:
        return Copy();
      case Spread::kEachKey:
        reply_.ArrayHeader(places_.size());
        return Copy();
      case Spread::kSum:
        return reply_.Integer(Sum());
      case Spread::kAllOk:
        return reply_.Ok();
      case Spread::kKeys:
        return Keys();
      case Spread::kScan:
        return Scan();
      case Spread::kReadBatch:
      case Spread::kStoutScan:
        reply_.ArrayHeader(1 + places_.size());
        reply_.Integer(static_cast<std::int64_t>(Queue()));
        return Copy();
      case Spread::kWrite:
        return Written(batch_.PieceAt(places_.front()));
      case Spread::kEpoch:
        return resp::ReplyEpoch(Queue(), static_cast<Epoch>(Largest()), reply_);
      case Spread::kFence:
        return resp::ReplyFenced(Queue(), Worst(), reply_);
    }
  }

 private:
  void Copy() {
    for (const Batch::Place place : places_) {
      const Piece& piece = batch_.PieceAt(place);
      out_.append(batch_.shares[place.shard].replies, piece.reply_begin,
                  piece.reply_end - piece.reply_begin);
    }
  }
  [[nodiscard]] std::int64_t Sum() const {
    std::int64_t sum = 0;
    for (const Batch::Place place : places_) sum += batch_.PieceAt(place).number;
    return sum;
  }
  [[nodiscard]] std::int64_t Largest() const {
    std::int64_t largest = 0;
    for (const Batch::Place place : places_)
      largest = std::max(largest, batch_.PieceAt(place).number);
    return largest;
  }
  // Requests that wait at the shards concerned.
  [[nodiscard]] std::uint64_t Queue() const {
    std::uint64_t queue = 0;
    for (const Batch::Place place : places_)
      queue = std::max(queue, batch_.shares[place.shard].queue);
    return queue;
  }
  // Fenced on one shard is fenced: a newer owner is there. Otherwise what did not succeed counts.
  [[nodiscard]] Errc Worst() const {
    Errc worst = Errc::kOk;
    for (const Batch::Place place : places_) {
      const auto errc = static_cast<Errc>(batch_.PieceAt(place).number);
      if (worst == Errc::kOk || errc == Errc::kFenced) worst = errc;
    }
    return worst;
  }

  void Written(const Piece& piece) {
    if (piece.reply_begin < piece.reply_end) return Copy();  // the problem
    resp::ReplyWritten(Queue(), piece.written, reply_);
  }

  void Keys() {
    if (request_.count) {
      const bool limited = request_.limit <= kMostFound;
      return reply_.Integer(limited ? std::min(Sum(), static_cast<std::int64_t>(request_.limit))
                                    : Sum());
    }
    std::size_t found = 0;
    for (const Batch::Place place : places_) found += batch_.PieceAt(place).keys.size();
    if (request_.limit > kMostFound && found > kMostFound)
      return reply_.Error(fmt::format(
          "ERR more than {} keys match: ask with LIMIT, or for their COUNT", kMostFound));
    std::uint64_t left = std::min<std::uint64_t>(found, request_.limit);
    reply_.ArrayHeader(left);
    for (const Batch::Place place : places_) {
      for (const std::string& key : batch_.PieceAt(place).keys) {
        if (left == 0) return;
        reply_.BulkString(key);
        --left;
      }
    }
  }

  // A scan goes through one shard after the other.
  void Scan() {
    const Batch::Place place = places_.front();
    const Piece& piece = batch_.PieceAt(place);
    std::uint64_t next = 0;
    if (piece.scanned) {
      next = service_.cursors.Keep({place.shard, piece.scanned});
    } else if (place.shard + 1 < batch_.shares.size()) {
      next = service_.cursors.Keep({place.shard + 1, std::nullopt});
    }
    reply_.ArrayHeader(2);
    reply_.BulkString(std::to_string(next));
    reply_.ArrayHeader(piece.keys.size());
    for (const std::string& key : piece.keys) reply_.BulkString(key);
  }

  Batch& batch_;
  const Request& request_;
  Service& service_;
  std::string& out_;
  resp::ReplyWriter reply_;
  std::span<const Batch::Place> places_;
};

// No shard has a part in it.
void AnswerHere(const Request& request, Service& service, resp::Session& session,
                resp::ReplyWriter& reply) {
  const resp::Command& command = *request.command;
  if (command.run == nullptr) return reply.Error("ERR not a command of its own; see COMMAND DOCS");
  command.run({command, request.arguments, service, session, reply});
}

}  // namespace

void Join(Batch& batch, Service& service, resp::Session& session, std::string& out) {
  for (Request& request : batch.requests) {
    const std::size_t begin = out.size();
    if (!request.error.empty()) {
      resp::ReplyWriter(out, session.version).Error(request.error);
    } else if (request.spread == Spread::kNone) {
      resp::ReplyWriter reply(out, session.version);
      AnswerHere(request, service, session, reply);
    } else {
      Joint(batch, request, service, out).Reply();
    }
    request.failed = begin < out.size() && out[begin] == '-';
    if (request.failed) service.command_stats.Error(std::string_view(out).substr(begin));
  }
}

}  // namespace stout::blowfish
