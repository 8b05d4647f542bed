#include "blowfish/server/shard_runner.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "blowfish/server/error_of_exception.h"

namespace stout::blowfish {
namespace {

/// Up to this number of reads, each takes the way of a single attribute. A walk to it takes 1.0 to
/// 2.7 us. A whole record takes 2 to 9.6 us alone, but about 1 us if 16 are read in lock step. The
/// number in between is a guess.
constexpr std::size_t kFewReads = 3;

/// More reads than connections usually have under way. Memory for more is not kept.
constexpr std::size_t kReadsKept = 4096;

}  // namespace

ShardRunner::ShardRunner(Shard& shard, std::size_t number, Worker worker)
    : shard_(shard),
      number_(number),
      worker_(std::move(worker)),
      slices_(*this, worker_.now, *worker_.read_time) {}

void ShardRunner::Add(SubBatch& batch) {
  ++open_;
  try {
    waits_.Reserve(open_);
    slices_.Reserve(open_);
  } catch (const std::bad_alloc&) {
    batch.Refuse(kNoMemory);
    return EndIfDone(batch);
  }
  waits_.Wake(batch);
}

void ShardRunner::Run() {
  waits_.StartPass();
  RunReady();
  slices_.Take([this](SubBatch& batch) {
    waits_.Wake(batch);
    RunReady();
  });
  waits_.EndPass();
  shard_.EndReads();
}

void ShardRunner::RunReady() {
  while (!waits_.idle()) {
    for (SubBatch* const batch : waits_.TakeReady()) Advance(*batch);
    ReadAllGathered();
  }
}

void ShardRunner::Advance(SubBatch& batch) {
  const std::size_t first = batch.next;
  while (!batch.begun()) {
    switch (TryToBegin(batch)) {
      case Step::kBegun:
        ++batch.next;
        break;
      case Step::kAfterWrites:
        if (batch.writes == 0) break;  // It was answered at once.
        batch.waits = true;
        return;
      case Step::kAfterPoll:
        return waits_.Wait(batch, batch.next != first);
      case Step::kInSlices:
        return slices_.Add(batch);
    }
  }
  EndIfDone(batch);
}

Step ShardRunner::TryToBegin(SubBatch& batch) {
  try {
    return Begin(batch);
  } catch (const std::exception&) {
    // Nor is what the same command has behind it begun.
    const std::string_view why = ErrorOfException();
    const auto subrequests = batch.OfNextRequest();
    for (Subrequest& each : subrequests) each.error = why;
    batch.next += subrequests.size() - 1;
    slices_.CloseSearch(batch);
    return Step::kBegun;
  }
}

Step ShardRunner::Begin(SubBatch& batch) {
  Subrequest& subrequest = batch.subrequests[batch.next];
  const Request& request = batch.RequestOf(subrequest);
  const ShardCommand& row = *request.row;
  if (row.begin != nullptr) {
    Work work(*this, batch, subrequest);
    return row.begin(work);
  }
  if (batch.writes > 0) return Step::kAfterWrites;
  if (row.slice != nullptr) return Step::kInSlices;
  gathered_.push_back({&batch, &subrequest, request.arguments[subrequest.argument]});
  ++batch.reads;
  return Step::kBegun;
}

void ShardRunner::EndIfDone(SubBatch& batch) noexcept {
  if (!batch.begun() || batch.reads > 0) return;
  if (batch.writes > 0) {
    batch.waits = true;
    return;
  }
  batch.queue = worker_.queue();
  --open_;
  worker_.done(batch);
}

void ShardRunner::OnWritten(SubBatch& batch) {
  if (--batch.writes == 0 && std::exchange(batch.waits, false)) waits_.Wake(batch);
}

// --- Reads ---------------------------------------------------------------------------------------

void ShardRunner::ReadAllGathered() {
  if (gathered_.empty()) return;
  // Reads of an index in lock step are as fast without layers.
  const std::size_t together = SetPartsApart();
  const bool counts =
      together < std::max<std::size_t>(gathered_.size(), 2) || shard_.files().packed_blocks();
  if (counts) worker_.read_time->Begin(worker_.now());
  try {
    AnswerAllGathered(together);
  } catch (const std::exception&) {
    // Requests without an answer do not know whether there is something to read.
    const std::string_view why = ErrorOfException();
    for (std::size_t i = 0; i < gathered_.size(); ++i) {
      if (!found_.empty() && found_[i]) continue;
      gathered_[i].subrequest->error = why;
      OnRead(*gathered_[i].batch);
    }
  }
  ClearAndKeep(gathered_, kReadsKept);
  ClearAndKeep(gathered_keys_, kReadsKept);
  ClearAndKeep(found_, kReadsKept);
  if (counts) worker_.read_time->End(worker_.now());
}

void ShardRunner::AnswerAllGathered(std::size_t together) {
  for (std::size_t i = 0; i < together; ++i) gathered_keys_.push_back(gathered_[i].key);
  found_.assign(gathered_.size(), false);
  const auto answer = [&](std::size_t i, auto reply) {
    const Read& read = gathered_[i];
    found_[i] = true;
    try {
      Work work(*this, *read.batch, *read.subrequest);
      reply(work, *work.request().row);
    } catch (const std::exception&) {
      read.subrequest->error = ErrorOfException();
    }
    OnRead(*read.batch);
  };
  shard_.Read(gathered_keys_,
              [&](std::size_t i, Stamp stamp, std::optional<std::string_view> value) {
                answer(i, [&](Work& work, const ShardCommand& row) {
                  const auto* const one = std::get_if<OneAttribute>(&work.request().parsed);
                  const auto* const range = std::get_if<ByteRange>(&work.request().parsed);
                  if (value && one != nullptr)
                    value = shard_.schema().Attribute(*value, one->index);
                  if (value && range != nullptr) {
                    const auto [offset, size] = range->In(value->size());
                    value = value->substr(offset, size);
                  }
                  row.read(work, {.known = true, .stamp = stamp, .value = value});
                });
              });
  for (std::size_t i = 0; i < together; ++i) {
    if (found_[i]) continue;
    answer(i, [&](Work& work, const ShardCommand& row) { row.read(work, {}); });
  }
  for (std::size_t i = together; i < gathered_.size(); ++i) {
    answer(i, [&](Work& work, const ShardCommand& row) {
      const KeyView key = gathered_[i].key;
      const auto* const range = std::get_if<ByteRange>(&work.request().parsed);
      row.read(work, {.known = true,
                      .value = range ? shard_.ReadRange(key, *range)
                                     : shard_.ReadAttribute(key, work.As<OneAttribute>().index)});
    });
  }
}

// A sub-batch whose reads are all done is answered while others are being read. So its client, and
// the thread that writes its replies, can work meanwhile.
void ShardRunner::OnRead(SubBatch& batch) {
  if (--batch.reads == 0) EndIfDone(batch);
}

std::size_t ShardRunner::SetPartsApart() {
  const bool few = gathered_.size() <= kFewReads;
  const bool reads_parts = shard_.text_index();
  const auto parts = std::partition(gathered_.begin(), gathered_.end(), [&](const Read& read) {
    const ParsedArguments& parsed = read.batch->RequestOf(*read.subrequest).parsed;
    return !(reads_parts && std::holds_alternative<ByteRange>(parsed)) &&
           !(few && std::holds_alternative<OneAttribute>(parsed));
  });
  return static_cast<std::size_t>(parts - gathered_.begin());
}

}  // namespace stout::blowfish
