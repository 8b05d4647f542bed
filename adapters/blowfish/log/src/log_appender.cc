#include "log_appender.h"

#include <utility>

namespace stout::blowfish {

Errc LogAppender::Commit(std::string* frame) {
  if (!file_ && Begin()) return Errc::kTransient;  // Not a byte of it was written.
  SealFrame(header_, end_.offset, end_.offset, frame);
  const ErrorCode write_error = WriteAll(*file_, end_.offset, *frame);
  if (!write_error && !file_->Sync()) {
    end_.offset += frame->size();
    return Errc::kOk;
  }
  const bool cut = write_error && !file_->Truncate(end_.offset) && !file_->Sync();
  if (cut) return Errc::kTransient;
  file_.reset();
  return Begin() ? Errc::kUnknown : Errc::kTransient;
}

ErrorCode LogAppender::Rotate() {
  std::unique_ptr<LogFile> old = std::move(file_);
  const ErrorCode error = Begin();
  if (error && !stray_) file_ = std::move(old);
  return error;
}

void LogAppender::Close() {
  if (!file_) return;
  std::string frame(kFrameHeadBytes, '\0');
  SealFrame(header_, end_.offset, end_.offset, &frame);
  if (!WriteAll(*file_, end_.offset, frame)) (void)file_->Sync();
  file_.reset();
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
  if (error) {
    stray_ = directory_->Remove(name) || directory_->Sync();
    return error;
  }
  header_ = header;
  end_ = {header.sequence, kLogHeaderBytes};
  file_ = *std::move(file);
  return {};
}

}  // namespace stout::blowfish
