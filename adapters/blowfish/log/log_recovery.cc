#include "blowfish/log/log_recovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blowfish/log/log_reader.h"

namespace stout::blowfish {
namespace {

constexpr std::uint64_t kOpenEnd = LogDirectory::kWhole;

// A file of the log, and where the header of the next one, or its own mark, says that it ends.
struct ChainLink {
  LogHeader header;
  std::uint64_t end = kOpenEnd;
};

// Sorted.
struct Sequences {
  std::vector<std::uint64_t> files;
  std::vector<std::uint64_t> marks;
};

Result<Sequences> ListSequences(LogDirectory& directory) {
  const Result<std::vector<std::string>> names = directory.List();
  if (!names) return names.error();
  Sequences sequences;
  for (const std::string& name : *names) {
    if (const auto sequence = SequenceOf(name)) sequences.files.push_back(*sequence);
    if (const auto marked = MarkedSequenceOf(name)) sequences.marks.push_back(*marked);
  }
  std::sort(sequences.files.begin(), sequences.files.end());
  std::sort(sequences.marks.begin(), sequences.marks.end());
  return sequences;
}

// The mark first, and for good: alone it would say that the file was lost.
ErrorCode RemoveMarksAndFiles(LogDirectory& directory, const Sequences& sequences) {
  for (const std::uint64_t sequence : sequences.marks) {
    if (const ErrorCode error = directory.Remove(LogMarkName(sequence))) return error;
  }
  if (!sequences.marks.empty()) {
    if (const ErrorCode error = directory.Sync()) return error;
  }
  for (const std::uint64_t sequence : sequences.files) {
    if (const ErrorCode error = directory.Remove(LogFileName(sequence))) return error;
  }
  return {};
}

class Recovery {
 public:
  Recovery(LogDirectory& directory, std::uint64_t shard, std::uint64_t first_sequence,
           UniqueFunction<void(const Operation&)> replay, Diagnostics* diagnostics)
      : directory_(directory),
        shard_(shard),
        first_sequence_(first_sequence),
        replay_(std::move(replay)),
        diagnostics_(diagnostics) {}

  Result<RecoveredLog> Run();

 private:
  // The chain, the newest file first.
  Result<std::vector<ChainLink>> FindChain();
  Result<std::optional<ChainLink>> FindNewest();
  // Refuses a log whose newest mark has no file: see F5.
  ErrorCode CheckNewestMark(const std::optional<ChainLink>& newest);
  // The end that the file's mark has, if the file was closed.
  Result<std::uint64_t> MarkedEnd(const LogHeader& header);
  // Returns nullopt if the file was never finished.
  Result<std::optional<LogHeader>> ReadHeader(std::uint64_t sequence);
  ErrorCode ReplayFile(const ChainLink& link);
  ErrorCode ReplayGroup(const LogHeader& header, std::uint64_t offset, std::string_view payload);
  ErrorCode JudgeEnd(const ChainLink& link, std::string_view file, const LogReader& reader);
  ErrorCode WriteAgain(const std::string& name, std::uint64_t offset, std::string_view bytes);
  void RemoveOthers(const std::vector<ChainLink>& chain);

  ErrorCode Damaged(std::uint64_t sequence, std::uint64_t offset, std::string_view why) {
    return Fail(Errc::kCorrupt, LogFileName(sequence),
                fmt::format("byte {}: {}; restore a copy of the shard", offset, why));
  }
  ErrorCode Refused(std::string_view name, const ErrorCode& error) {
    return Fail(Errc::kTransient, name, error.message());
  }
  // A bad sector concerns this shard alone, as a wrong checksum does.
  ErrorCode Unread(std::string_view name, const ErrorCode& error) {
    if (error != boost::system::errc::io_error) return Refused(name, error);
    return Fail(Errc::kCorrupt, name,
                fmt::format("cannot be read: {}; restore a copy of the shard", error.message()));
  }
  ErrorCode Fail(Errc errc, std::string_view name, std::string_view why) {
    if (diagnostics_) {
      diagnostics_->message = fmt::format("{}/{}: {}", directory_.path(), name, why);
    }
    return errc;
  }

  LogDirectory& directory_;
  const std::uint64_t shard_;
  const std::uint64_t first_sequence_;
  UniqueFunction<void(const Operation&)> replay_;
  Diagnostics* const diagnostics_;
  Sequences sequences_;  // of the files that exist
  RecoveredLog log_;
};

Result<RecoveredLog> Recovery::Run() {
  Result<Sequences> sequences = ListSequences(directory_);
  if (!sequences) return Unread("", sequences.error());
  sequences_ = *std::move(sequences);
  for (const auto* const of : {&sequences_.files, &sequences_.marks}) {
    if (!of->empty()) log_.last_sequence = std::max(log_.last_sequence, of->back());
  }
  const Result<std::vector<ChainLink>> chain = FindChain();
  if (!chain) return chain.error();
  for (auto link = chain->rbegin(); link != chain->rend(); ++link) {
    if (const ErrorCode error = ReplayFile(*link)) return error;
  }
  RemoveOthers(*chain);
  return log_;
}

Result<std::vector<ChainLink>> Recovery::FindChain() {
  const Result<std::optional<ChainLink>> newest = FindNewest();
  if (!newest) return newest.error();
  if (const ErrorCode error = CheckNewestMark(*newest)) return error;
  std::vector<ChainLink> chain;
  if (!newest->has_value()) {
    if (first_sequence_ <= 1) return chain;  // A new shard.
    return Damaged(first_sequence_, 0, "this file and all that follow are missing");
  }
  const Result<std::uint64_t> end = MarkedEnd((*newest)->header);
  if (!end) return end.error();
  chain.push_back({(*newest)->header, *end});
  for (;;) {
    const LogHeader& next = chain.back().header;
    const auto [sequence, end] = next.previous;
    if (sequence == 0 || sequence < first_sequence_) return chain;
    if (sequence >= next.sequence) {
      return Damaged(next.sequence, 0, "names a later file as the one before it");
    }
    if (!std::binary_search(sequences_.files.begin(), sequences_.files.end(), sequence)) {
      return Damaged(sequence, 0, "this file is missing");
    }
    const Result<std::optional<LogHeader>> header = ReadHeader(sequence);
    if (!header) return header.error();
    if (!header->has_value()) return Damaged(sequence, 0, "this file is cut off");
    chain.push_back({**header, end});
  }
}

Result<std::optional<ChainLink>> Recovery::FindNewest() {
  for (auto sequence = sequences_.files.rbegin(); sequence != sequences_.files.rend(); ++sequence) {
    if (*sequence < first_sequence_) break;
    const Result<std::optional<LogHeader>> header = ReadHeader(*sequence);
    if (!header) return header.error();
    if (header->has_value()) return std::optional(ChainLink{**header});
  }
  return std::optional<ChainLink>();
}

ErrorCode Recovery::CheckNewestMark(const std::optional<ChainLink>& newest) {
  if (sequences_.marks.empty()) return {};
  const std::uint64_t marked = sequences_.marks.back();
  if (marked < first_sequence_ || (newest && newest->header.sequence >= marked)) return {};
  const bool there = std::binary_search(sequences_.files.begin(), sequences_.files.end(), marked);
  return Damaged(marked, 0,
                 fmt::format("this file is {}, and with it the newest writes; {} says that there "
                             "was one",
                             there ? "cut off" : "missing", LogMarkName(marked)));
}

Result<std::uint64_t> Recovery::MarkedEnd(const LogHeader& header) {
  if (!std::binary_search(sequences_.marks.begin(), sequences_.marks.end(), header.sequence))
    return kOpenEnd;
  const std::string name = LogMarkName(header.sequence);
  const Result<std::string> mark = directory_.Read(name, kLogHeaderBytes);
  if (!mark) return Unread(name, mark.error());
  const std::optional<LogHeader> next = DecodeHeader(*mark);
  const bool closed = next && next->shard == shard_ && next->nonce == header.nonce &&
                      next->previous.sequence == header.sequence;
  return closed ? next->previous.offset : kOpenEnd;
}

Result<std::optional<LogHeader>> Recovery::ReadHeader(std::uint64_t sequence) {
  const std::string name = LogFileName(sequence);
  const Result<std::string> file = directory_.Read(name, kLogHeaderBytes + 1);
  if (!file) return Unread(name, file.error());
  const std::optional<LogHeader> header = DecodeHeader(*file);
  if (!header) {
    if (file->size() <= kLogHeaderBytes) return header;  // By F1.
    return Damaged(sequence, 0, "the header is damaged, or not one of this format");
  }
  if (header->shard != shard_) {
    return Damaged(sequence, 8,
                   fmt::format("it belongs to shard {}, not {}", header->shard, shard_));
  }
  if (header->sequence != sequence) {
    return Damaged(sequence, 16, fmt::format("is file {} under another name", header->sequence));
  }
  return header;
}

ErrorCode Recovery::ReplayFile(const ChainLink& link) {
  const std::string name = LogFileName(link.header.sequence);
  const Result<std::string> file = directory_.Read(name, link.end);
  if (!file) return Unread(name, file.error());
  LogReader reader(link.header, *file);
  std::uint64_t offset = reader.offset();
  while (const std::optional<std::string_view> payload = reader.Next()) {
    if (const ErrorCode error = ReplayGroup(link.header, offset, *payload)) return error;
    offset = reader.offset();
  }
  ++log_.report.files;
  log_.report.bytes += offset;
  log_.end = {link.header.sequence, offset};
  return JudgeEnd(link, *file, reader);
}

ErrorCode Recovery::ReplayGroup(const LogHeader& header, std::uint64_t offset,
                                std::string_view payload) {
  ++log_.report.groups;
  while (!payload.empty()) {
    const std::optional<Operation> operation = TakeOperation(&payload);
    if (!operation) return Damaged(header.sequence, offset, "a group of unknown operations");
    replay_(*operation);
    ++log_.report.operations;
  }
  return {};
}

ErrorCode Recovery::JudgeEnd(const ChainLink& link, std::string_view file,
                             const LogReader& reader) {
  const std::uint64_t sequence = link.header.sequence;
  if (link.end != kOpenEnd) {
    if (reader.offset() == link.end) return {};
    return Damaged(
        sequence, reader.offset(),
        fmt::format("damaged or cut off: this file was valid up to byte {} earlier", link.end));
  }
  if (reader.end() == LogReader::End::kDamaged) {
    return Damaged(
        sequence, reader.offset(),
        fmt::format("damaged: the group at byte {} shows that this was durable", reader.witness()));
  }
  // Without the room behind it; of room alone, nothing.
  log_.report.cut_bytes = file.substr(reader.offset()).find_last_not_of('\0') + 1;
  const std::uint64_t proven = reader.proven();
  return WriteAgain(LogFileName(sequence), proven, file.substr(proven, reader.offset() - proven));
}

ErrorCode Recovery::WriteAgain(const std::string& name, std::uint64_t offset,
                               std::string_view bytes) {
  const Result<std::unique_ptr<LogFile>> file = directory_.Open(name);
  if (!file) return Refused(name, file.error());
  ErrorCode error = WriteAll(**file, offset, bytes);
  if (!error) error = (*file)->Sync();
  if (!error) error = directory_.Sync();
  return error ? Refused(name, error) : error;
}

void Recovery::RemoveOthers(const std::vector<ChainLink>& chain) {
  const auto is_used = [&](std::uint64_t sequence) {
    return std::any_of(chain.begin(), chain.end(),
                       [&](const ChainLink& link) { return link.header.sequence == sequence; });
  };
  std::erase_if(sequences_.files, is_used);
  std::erase_if(sequences_.marks, is_used);
  // One that stays does no harm: its sequence is not used again.
  (void)RemoveMarksAndFiles(directory_, sequences_);
}

}  // namespace

Result<RecoveredLog> RecoverLog(LogDirectory& directory, std::uint64_t shard,
                                std::uint64_t first_sequence,
                                UniqueFunction<void(const Operation&)> replay,
                                Diagnostics* diagnostics) {
  return Recovery(directory, shard, first_sequence, std::move(replay), diagnostics).Run();
}

ErrorCode RemoveLogs(LogDirectory& directory, std::uint64_t through) {
  Result<Sequences> sequences = ListSequences(directory);
  if (!sequences) return sequences.error();
  const auto stays = [&](std::uint64_t sequence) { return sequence > through; };
  std::erase_if(sequences->files, stays);
  std::erase_if(sequences->marks, stays);
  if (const ErrorCode error = RemoveMarksAndFiles(directory, *sequences)) return error;
  return directory.Sync();
}

}  // namespace stout::blowfish
