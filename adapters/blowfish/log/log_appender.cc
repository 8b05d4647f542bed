#include "blowfish/log/log_appender.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "blowfish/file/file_error.h"

namespace stout::blowfish {
namespace {

/// Zeros that are added to a file: as many as it has bytes, so that small logs stay small, but not
/// more than this.
constexpr std::uint64_t kMaxRoom = std::uint64_t{1} << 20;

constexpr std::array<char, std::size_t{64} << 10> kZeros{};

}  // namespace

Errc LogAppender::Commit(std::string* frame) {
  if (!file_ && Begin()) return Errc::kTransient;  // Not a byte of it was written.
  SealFrame(header_, end_.offset, end_.offset, frame);
  const ErrorCode write_error = WriteAll(*file_, end_.offset, *frame);
  // As much as that is worth a sync of its own, and the next one of its kind would not fit either.
  if (!write_error && frame->size() < kMaxRoom) MakeRoom(end_.offset + frame->size());
  const ErrorCode error = write_error ? write_error : file_->Sync();
  if (!error) {
    end_.offset += frame->size();
    return Errc::kOk;
  }
  NoteFailure(write_error ? "write" : "sync", error);
  room_ = 0;
  const bool cut = write_error && !file_->Truncate(end_.offset) && !file_->Sync();
  if (cut) return Errc::kTransient;
  file_.reset();
  return Begin() ? Errc::kUnknown : Errc::kTransient;
}

void LogAppender::MakeRoom(std::uint64_t end) {
  if (end <= room_) return;
  const std::uint64_t wanted = end + std::min(end, kMaxRoom);
  for (room_ = end; room_ < wanted;) {
    const auto size = std::min<std::uint64_t>(wanted - room_, kZeros.size());
    // If there is no more room, as on a full disk, syncs take longer.
    if (WriteAll(*file_, room_, std::string_view(kZeros.data(), size))) return;
    room_ += size;
  }
}

ErrorCode LogAppender::Rotate() {
  if (file_ && end_.offset == kLogHeaderBytes) return {};  // It has no frame yet.
  std::unique_ptr<LogFile> old = std::move(file_);
  const std::uint64_t end = end_.offset;
  const ErrorCode error = Begin();
  if (!error && old) (void)old->Truncate(end);  // may fail: the next header has the end
  if (error && !stray_) file_ = std::move(old);
  return error;
}

void LogAppender::Close() {
  if (!file_) return;
  std::string frame(kFrameHeadBytes, '\0');
  SealFrame(header_, end_.offset, end_.offset, &frame);
  ErrorCode error = WriteAll(*file_, end_.offset, frame);
  if (!error) error = file_->Truncate(end_.offset + frame.size());
  if (!error) error = file_->Sync();
  file_.reset();
  if (!error) MarkEnd({end_.sequence, end_.offset + frame.size()});
}

// A mark that is torn says nothing of the end.
void LogAppender::MarkEnd(LogPlace end) {
  const Result<std::unique_ptr<LogFile>> mark = directory_->Open(LogMarkName(end.sequence));
  if (!mark) return;
  const LogHeader next{shard_, end.sequence + 1, end, header_.nonce};
  if (!WriteAll(**mark, 0, EncodeHeader(next))) (void)(*mark)->Sync();
}

ErrorCode LogAppender::Begin() {
  const LogHeader header{shard_, ++last_sequence_, end_, nonces_.Next()};
  const std::string name = LogFileName(header.sequence);
  Result<std::unique_ptr<LogFile>> file = directory_->Create(name);
  ErrorCode error;
  if (!file) error = file.error();
  if (!error) error = WriteAll(**file, 0, EncodeHeader(header));
  if (!error) error = (*file)->Sync();
  if (!error) error = directory_->Sync();
  if (!error) error = directory_->Create(LogMarkName(header.sequence)).error();
  if (!error) error = directory_->Sync();
  if (error) {
    NoteFailure("begin a file", error);
    // A mark without its file would say that the file was lost.
    stray_ = directory_->Remove(LogMarkName(header.sequence)) || directory_->Sync() ||
             directory_->Remove(name) || directory_->Sync();
    return error;
  }
  header_ = header;
  end_ = {header.sequence, kLogHeaderBytes};
  room_ = 0;
  file_ = *std::move(file);
  return {};
}

void LogAppender::NoteFailure(std::string_view verb, ErrorCode error) {
  (void)FailedCall(directory_->path(), verb, error.value(), &failure_);
}

}  // namespace stout::blowfish
