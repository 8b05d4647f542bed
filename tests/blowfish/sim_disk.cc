#include "sim_disk.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace stout::blowfish::test {
namespace {

ErrorCode SystemError(int error) { return {error, boost::system::system_category()}; }

}  // namespace

class SimDisk::File : public LogFile {
 public:
  File(SimDisk& disk, std::shared_ptr<Content> content)
      : disk_(disk), content_(std::move(content)) {}

  Result<std::size_t> Write(std::uint64_t offset, std::string_view bytes) override {
    if (disk_.crashed_) return SystemError(EIO);
    ErrorCode error = disk_.Fate(disk_.errors.write);
    const std::uint64_t here = content_->seen.size() - std::min(content_->seen.size(), offset);
    const std::uint64_t left = disk_.space - disk_.Used();
    if (!error && bytes.size() > here && bytes.size() - here > left) {
      error = SystemError(ENOSPC);
      bytes = bytes.substr(0, here + left);
    } else if (error) {
      if (disk_.Coin()) bytes = bytes.substr(0, disk_.random_.Below(bytes.size()));
    } else if (disk_.random_.Unit() < disk_.fault_rate) {
      bytes = bytes.substr(0, disk_.random_.Below(bytes.size()) + 1);
    }
    if (content_->seen.size() < offset + bytes.size()) {
      content_->seen.resize(offset + bytes.size());
    }
    std::copy(bytes.begin(), bytes.end(), content_->seen.begin() + offset);
    for (std::size_t at = offset / kSectorBytes; at * kSectorBytes < offset + bytes.size(); ++at) {
      content_->dirty.insert(at);
      if (disk_.random_.Below(4) == 0) disk_.WriteSector(*content_, at);
    }
    if (error) return error;
    return bytes.size();
  }

  ErrorCode Sync() override {
    if (disk_.crashed_) return SystemError(EIO);
    const bool fails = disk_.failing_syncs > 0 && disk_.failing_syncs-- > 0;
    if (const ErrorCode error = disk_.Fate(fails ? EIO : disk_.errors.sync)) {
      disk_.WriteSome(*content_);
      return error;
    }
    for (const std::size_t sector : content_->dirty) disk_.WriteSector(*content_, sector);
    content_->dirty.clear();
    content_->disk.resize(content_->seen.size());
    content_->resized = false;
    return {};
  }

  ErrorCode Truncate(std::uint64_t size) override {
    if (disk_.crashed_) return SystemError(EIO);
    if (const ErrorCode error = disk_.Fate(disk_.errors.truncate)) return error;
    content_->seen.resize(size);
    content_->resized = true;
    return {};
  }

 private:
  SimDisk& disk_;
  const std::shared_ptr<Content> content_;
};

ErrorCode SimDisk::Fate(int error) {
  if (crashed_) return SystemError(EIO);
  if (calls_++ == crash_at) {
    crashed_ = true;
    return SystemError(EIO);
  }
  if (error != 0) return SystemError(error);
  return random_.Unit() < fault_rate ? SystemError(EIO) : ErrorCode();
}

std::uint64_t SimDisk::Used() const {
  std::uint64_t used = 0;
  for (const auto& [name, content] : seen_) used += content->seen.size();
  return used;
}

void SimDisk::WriteSector(Content& content, std::size_t sector) {
  const std::size_t begin = sector * kSectorBytes;
  if (begin >= content.seen.size()) return;  // Cut off since.
  const std::size_t end = std::min(begin + kSectorBytes, content.seen.size());
  if (content.disk.size() < end) content.disk.resize(end);
  std::copy(content.seen.begin() + begin, content.seen.begin() + end, content.disk.begin() + begin);
}

void SimDisk::WriteSome(Content& content) {
  if (content.resized && Coin()) {
    content.disk.resize(std::min(content.disk.size(), content.seen.size()));
  }
  for (const std::size_t sector : content.dirty) {
    if (Coin()) WriteSector(content, sector);
  }
  // The size may be on the disk before the bytes are: they are zeros then.
  if (content.disk.size() < content.seen.size() && Coin()) {
    content.disk.resize(content.disk.size() +
                        random_.Below(content.seen.size() - content.disk.size() + 1));
  }
  content.dirty.clear();
}

void SimDisk::WriteSomeNames() {
  for (const auto& [name, content] : seen_) {
    if (Coin()) disk_[name] = content;
  }
  std::erase_if(disk_, [&](const auto& entry) { return !seen_.contains(entry.first) && Coin(); });
}

void SimDisk::Restart(bool power_failure) {
  crashed_ = false;
  crash_at = kNoCrash;
  if (!power_failure) return;
  WriteSomeNames();
  seen_ = disk_;
  for (const auto& [name, content] : seen_) {
    WriteSome(*content);
    content->seen = content->disk;
    content->resized = false;
  }
}

std::map<std::string, std::string> SimDisk::Contents() const {
  std::map<std::string, std::string> contents;
  for (const auto& [name, content] : seen_) contents[name] = content->seen;
  return contents;
}

void SimDisk::SetContent(const std::string& name, std::string content) {
  const auto file = std::make_shared<Content>();
  file->seen = file->disk = std::move(content);
  seen_[name] = disk_[name] = file;
}

Result<std::vector<std::string>> SimDisk::List() {
  if (const ErrorCode error = Fate(0)) return error;
  std::vector<std::string> names;
  for (const auto& [name, content] : seen_) names.push_back(name);
  return names;
}

Result<std::string> SimDisk::Read(const std::string& name, std::uint64_t limit) {
  if (const ErrorCode error = Fate(0)) return error;
  const auto file = seen_.find(name);
  if (file == seen_.end()) return SystemError(ENOENT);
  return file->second->seen.substr(0, limit);
}

Result<std::unique_ptr<LogFile>> SimDisk::Create(const std::string& name) {
  if (const ErrorCode error = Fate(errors.create)) return error;
  if (seen_.contains(name)) return SystemError(EEXIST);
  const auto content = std::make_shared<Content>();
  seen_[name] = content;
  return std::unique_ptr<LogFile>(std::make_unique<File>(*this, content));
}

Result<std::unique_ptr<LogFile>> SimDisk::Open(const std::string& name) {
  if (const ErrorCode error = Fate(0)) return error;
  const auto file = seen_.find(name);
  if (file == seen_.end()) return SystemError(ENOENT);
  return std::unique_ptr<LogFile>(std::make_unique<File>(*this, file->second));
}

ErrorCode SimDisk::Remove(const std::string& name) {
  if (const ErrorCode error = Fate(0)) return error;
  seen_.erase(name);
  return {};
}

ErrorCode SimDisk::Sync() {
  if (crashed_) return SystemError(EIO);
  if (const ErrorCode error = Fate(errors.sync_names)) {
    WriteSomeNames();
    return error;
  }
  disk_ = seen_;
  return {};
}

}  // namespace stout::blowfish::test
