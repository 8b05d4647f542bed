#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stout::blowfish {

/// Lines are numbered through all files, from 1 on; this knows where each stands.
class LinePlaces {
 public:
  /// The lines that follow line `before` are of this file.
  void BeginFile(std::string name, std::uint64_t before);
  /// "orders.tbl:17". Requires a line of a file that has begun.
  [[nodiscard]] std::string Describe(std::uint64_t line) const;

 private:
  struct File {
    std::string name;
    std::uint64_t before;
  };
  std::vector<File> files_;  // In ascending order.
};

}  // namespace stout::blowfish
