# Run by ctest as `cmake -DSOURCE_DIR=... -P`: the core stays sans-I/O. core_purity_test.cc proves
# the same of what its headers pull in; this reads every line that asks for a file or the time.
cmake_minimum_required(VERSION 3.25)

set(headers ${SOURCE_DIR}/libstout/include/stout/core)
file(GLOB_RECURSE files ${headers}/*.h ${SOURCE_DIR}/libstout/src/core/*)
file(READ ${SOURCE_DIR}/tests/unit/core_purity_test.cc purity_test)

set(allowed [=[^#include ("(stout/)?core/|<(boost/unordered/|boost/container/|boost/intrusive/|fmt/))]=])
set(standard "^#include <([a-z_]+)>")
# Headers of the standard library that do input or output, wait, or read a clock.
set(impure atomic condition_variable filesystem fstream future iostream mutex semaphore
           shared_mutex stop_token thread ctime csignal)
set(violations "")
foreach(file IN LISTS files)
  cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${SOURCE_DIR} OUTPUT_VARIABLE name)
  file(STRINGS ${file} lines REGEX "^#include|::now\\(|random_device|getenv")
  foreach(line IN LISTS lines)
    if(line MATCHES "${standard}" AND NOT CMAKE_MATCH_1 IN_LIST impure)
      continue()
    elseif(NOT line MATCHES "${allowed}")
      string(APPEND violations "  ${name}: ${line}\n")
    endif()
  endforeach()
  cmake_path(IS_PREFIX headers ${file} public)
  cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${headers} OUTPUT_VARIABLE header)
  string(FIND "${purity_test}" "#include \"stout/core/${header}\"" found)
  if(public AND found EQUAL -1)
    string(APPEND violations "  ${name}: not included by tests/unit/core_purity_test.cc\n")
  endif()
endforeach()
if(violations)
  message(FATAL_ERROR "the core must stay pure:\n${violations}")
endif()
