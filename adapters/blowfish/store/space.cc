#include "blowfish/store/space.h"

namespace stout::blowfish {

std::vector<Space> SpaceOf(const IndexFile& file) {
  std::vector<Space> space;
  std::uint64_t sections = 0;
  for (const IndexFile::Section& s : file.sections()) {
    space.push_back({s.name, s.bytes.size()});
    sections += s.bytes.size();
  }
  space.push_back({"file", file.bytes() - sections});
  return space;
}

}  // namespace stout::blowfish
