# stout_mutant(NAME FILE [COMPILE source.cc] OLD text NEW text)
#
# Builds WORLD_mutant_NAME: the world on a core in whose FILE (below libstout/) OLD, which must be
# there exactly once, is replaced by NEW. Its test passes if a world notices. For a header, COMPILE
# names the one source that uses what was changed. The core itself has no hook for this. All are
# checked against the source; of every STOUT_MUTANTS, one is built.
#
# Set before: mutant_world (the world's name), mutant_objects (its objects), mutant_libraries (beside
# the core and the simulator), mutant_arguments (with which it succeeds if it notices).

set(mutants_seen 0)  # since the last that was built

function(stout_mutant name file)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "" "COMPILE;OLD;NEW" "")
  set(path ${PROJECT_SOURCE_DIR}/libstout/${file})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  file(READ ${path} source)
  string(FIND "${source}" "${ARG_OLD}" first)
  string(FIND "${source}" "${ARG_OLD}" last REVERSE)
  if(first EQUAL -1 OR NOT first EQUAL last)
    message(FATAL_ERROR "the mutant '${name}' is out of date: ${file} does not have exactly once\n"
                        "${ARG_OLD}\nAdapt ${CMAKE_CURRENT_SOURCE_DIR}/mutants.cmake to the new source.")
  endif()
  math(EXPR position "(${mutants_seen} + 1) % ${STOUT_MUTANTS}")
  set(mutants_seen ${position} PARENT_SCOPE)
  if(position)
    return()
  endif()
  string(REPLACE "${ARG_OLD}" "${ARG_NEW}" source "${source}")

  set(directory ${CMAKE_CURRENT_BINARY_DIR}/mutants/${name})
  if(ARG_COMPILE)
    string(REGEX REPLACE "^include/" "" include ${file})
    set(mutated ${directory}/${include})
    set(compiled ${PROJECT_SOURCE_DIR}/libstout/${ARG_COMPILE})
    set(original ${compiled})
  else()
    cmake_path(GET file FILENAME filename)
    set(mutated ${directory}/${filename})
    set(compiled ${mutated})
    set(original ${path})
  endif()
  file(CONFIGURE OUTPUT ${mutated} CONTENT "@source@" @ONLY)  # written only if it differs

  # A mutant's source takes the place of one of the library's, which is compiled by itself for it.
  set_source_files_properties(${original} TARGET_DIRECTORY stout_core
                              PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

  set(target ${mutant_world}_mutant_${name})
  add_executable(${target} ${mutant_objects} ${compiled})
  target_include_directories(${target} BEFORE PRIVATE ${directory})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/libstout/src)
  target_link_libraries(${target} PRIVATE stout::core stout::sim ${mutant_libraries})
  target_compile_options(${target} PRIVATE -w -g0)  # a mutant may leave a parameter unused
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${directory})
  set(test "${mutant_world}_test/mutant ${name}")
  add_test(NAME ${test} COMMAND ${target} ${mutant_arguments})
  set_tests_properties(${test} PROPERTIES LABELS mutants TIMEOUT 300)
endfunction()
