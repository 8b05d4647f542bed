# How every target of the project is compiled. All of it is private: users inherit no flag of ours.

find_program(STOUT_MOLD mold)  # links a program of the tests in a third of the time of ld.bfd

function(stout_compile target)
  target_compile_options(${target} PRIVATE -Wall -Wextra $<$<BOOL:${STOUT_WERROR}>:-Werror>)
  # {.seed = 1} leaves the other fields at their defaults on purpose.
  target_compile_options(${target} PRIVATE -Wno-missing-field-initializers)
  # Boost.Beast of Debian 13 uses this header without including it.
  if(Boost_VERSION VERSION_GREATER_EQUAL 1.83 AND Boost_VERSION VERSION_LESS 1.84)
    target_compile_options(${target} PRIVATE -include cstdint)
  endif()
  # With -Og, gcc 14 cannot inline what xxhash.h of Debian 13 forces it to.
  target_compile_definitions(${target} PRIVATE $<$<CONFIG:Debug>:XXH_NO_INLINE_HINTS=1>)
  # False alarms of gcc 12: uninitialised memory inside Asio's coroutines, a mismatch of their operator
  # new and delete once one of the two is inlined, and overlapping copies inside `"text" + string` (GCC
  # bug 105651).
  target_compile_options(${target} PRIVATE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized -Wno-mismatched-new-delete -Wno-restrict>)
  if(CMAKE_UNITY_BUILD)  # what is without a name in a source is no header's
    target_compile_options(${target} PRIVATE
      $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
  if(STOUT_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${STOUT_SANITIZE} -fno-omit-frame-pointer
                                             -fno-sanitize-recover=all)
    # These cost a quarter of the time of a build, and what they find AddressSanitizer sees as well; but
    # for alignment, which is checked where something is read in place that another process wrote.
    if(STOUT_SANITIZE MATCHES undefined)
      target_compile_options(${target} PRIVATE
        -fno-sanitize=null,object-size,vptr,pointer-overflow
        $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>  # clang 14 cannot assemble it for coroutines
        $<$<NOT:$<BOOL:${STOUT_CHECK_ALIGNMENT}>>:-fno-sanitize=alignment>)
    endif()
    target_link_options(${target} PRIVATE -fsanitize=${STOUT_SANITIZE})
    if(STOUT_SANITIZE MATCHES address)
      target_compile_definitions(${target} PRIVATE STOUT_ASAN)
    elseif(STOUT_SANITIZE MATCHES thread)
      target_compile_definitions(${target} PRIVATE STOUT_TSAN)
      target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)  # Asio's fences
      get_target_property(type ${target} TYPE)
      if(type STREQUAL EXECUTABLE)  # programs, too: tests start them
        target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/tsan_suppressions.cc)
      endif()
    endif()
  endif()
  if(STOUT_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)  # what libFuzzer steers by
  endif()
  if(STOUT_MOLD AND STOUT_BUILD_TESTS)
    target_link_options(${target} PRIVATE -fuse-ld=mold)
  endif()
  if(STOUT_PRECOMPILE)  # so that ccache finds what was compiled in another directory
    target_compile_options(${target} PRIVATE
      "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
  endif()
  if(STOUT_PRECOMPILE AND NOT target MATCHES "^stout_precompiled")
    target_precompile_headers(${target} REUSE_FROM stout_precompiled)
  endif()
endfunction()

# The headers that most sources include are read once for all of them. A source that lacks an include
# compiles all the same; preset `dev` finds it.
if(STOUT_PRECOMPILE)
  add_library(stout_precompiled OBJECT cmake/precompiled.cc)
  target_precompile_headers(stout_precompiled PRIVATE cmake/precompiled.h)
  stout_compile(stout_precompiled)
endif()

# stout_library(NAME [INSTALL] HEADERS files... SOURCES files... [LINK libraries...])
# makes stout_NAME, alias stout::NAME. Public headers live under include/, each compiles alone.
function(stout_library name)
  cmake_parse_arguments(ARG "INSTALL" "" "HEADERS;SOURCES;LINK" ${ARGN})
  set(target stout_${name})
  set(kind STATIC)  # what is not installed becomes part of programs
  if(ARG_INSTALL)
    set(kind "")  # as BUILD_SHARED_LIBS says
  endif()
  add_library(${target} ${kind} ${ARG_SOURCES})
  add_library(stout::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS include FILES ${ARG_HEADERS})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_libraries(${target} PUBLIC ${ARG_LINK})
  stout_compile(${target})
  if(ARG_INSTALL)
    set_property(GLOBAL APPEND PROPERTY STOUT_INSTALL_TARGETS ${target})
  endif()
endfunction()

# stout_program(NAME [INSTALL] SOURCES files... [LINK libraries...]) makes an executable in bin/.
function(stout_program name)
  cmake_parse_arguments(ARG "INSTALL" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  stout_compile(${name})
  if(ARG_INSTALL)
    set_target_properties(${name} PROPERTIES INSTALL_RPATH $ORIGIN/../${CMAKE_INSTALL_LIBDIR})
    set_property(GLOBAL APPEND PROPERTY STOUT_INSTALL_PROGRAMS ${name})
  endif()
endfunction()
