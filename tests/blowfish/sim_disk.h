#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "blowfish/log/log_directory.h"
#include "stout/core/random.h"

namespace stout::blowfish::test {

// A folder on a disk that fails, and that forgets what was not synced.
//
// Each file has what programs see (the page cache) and what is on the disk, in sectors of 512
// bytes. A write makes sectors dirty; a sync copies the dirty ones, and the system some when it
// likes. A sync that fails copies some, and forgets that the others are dirty, as Linux does: later
// ones succeed and do not write them.
class SimDisk : public LogDirectory {
 public:
  static constexpr std::size_t kSectorBytes = 512;
  static constexpr std::uint64_t kNoCrash = std::numeric_limits<std::uint64_t>::max();

  // Errors that calls end with; 0: none.
  struct Errors {
    int create = 0;
    int write = 0;  // After writing a part, or all.
    int sync = 0;
    int truncate = 0;
    int sync_names = 0;
  };

  explicit SimDisk(std::uint64_t seed) : random_(seed) {}

  Errors errors;
  // For the bytes of all files.
  std::uint64_t space = std::numeric_limits<std::uint64_t>::max();
  int failing_syncs = 0;  // number of syncs of files that fail
  double fault_rate = 0;  // probability that a call fails, or writes less, in [0, 1]
  // The call during which the program dies. It may have done a part; later ones do nothing.
  std::uint64_t crash_at = kNoCrash;

  [[nodiscard]] std::uint64_t calls() const { return calls_; }
  [[nodiscard]] bool crashed() const { return crashed_; }

  // The program starts again. With a power failure the files have what was on the disk, and of what
  // was dirty any part.
  void Restart(bool power_failure);

  // The content of a file for all readers, also after a power failure.
  [[nodiscard]] std::map<std::string, std::string> Contents() const;
  void SetContent(const std::string& name, std::string content);

  const std::string& path() const override { return path_; }
  Result<std::vector<std::string>> List() override;
  Result<std::string> Read(const std::string& name, std::uint64_t limit) override;
  Result<std::unique_ptr<LogFile>> Create(const std::string& name) override;
  Result<std::unique_ptr<LogFile>> Open(const std::string& name) override;
  ErrorCode Remove(const std::string& name) override;
  ErrorCode Sync() override;

 private:
  class File;
  struct Content {
    std::string seen;
    std::string disk;
    std::set<std::size_t> dirty;  // Sectors of `seen`.
    bool resized = false;         // Since the last sync.
  };
  using Names = std::map<std::string, std::shared_ptr<Content>>;

  // The effect of a call that would end with `error`.
  [[nodiscard]] ErrorCode Fate(int error);
  [[nodiscard]] bool Coin() { return random_.Below(2) == 0; }
  [[nodiscard]] std::uint64_t Used() const;
  void WriteSector(Content& content, std::size_t sector);
  // As if the system had been about to write it all, and something came between.
  void WriteSome(Content& content);
  void WriteSomeNames();

  const std::string path_ = "disk";
  SplitMix64 random_;
  std::uint64_t calls_ = 0;
  bool crashed_ = false;
  Names seen_;
  Names disk_;
};

}  // namespace stout::blowfish::test
