# stout_mutant(NAME FILE [COMPILE source.cc] OLD text NEW text)
#
# Builds world_mutant_NAME: the world on a core in whose FILE (below libstout/) OLD, which must be
# there exactly once, is replaced by NEW. Its test passes if a world notices. For a header, COMPILE
# names the one source that uses what was changed. The core itself has no hook for this.
function(stout_mutant name file)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "" "COMPILE;OLD;NEW" "")
  set(path ${PROJECT_SOURCE_DIR}/libstout/${file})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  file(READ ${path} source)
  string(FIND "${source}" "${ARG_OLD}" first)
  string(FIND "${source}" "${ARG_OLD}" last REVERSE)
  if(first EQUAL -1 OR NOT first EQUAL last)
    message(FATAL_ERROR "the mutant '${name}' is out of date: ${file} does not have exactly once\n"
                        "${ARG_OLD}\nAdapt tests/sim/mutants.cmake to the new source.")
  endif()
  string(REPLACE "${ARG_OLD}" "${ARG_NEW}" source "${source}")

  set(directory ${CMAKE_CURRENT_BINARY_DIR}/mutants/${name})
  if(ARG_COMPILE)
    string(REGEX REPLACE "^include/" "" include ${file})
    set(mutated ${directory}/${include})
    set(compiled ${PROJECT_SOURCE_DIR}/libstout/${ARG_COMPILE})
  else()
    cmake_path(GET file FILENAME filename)
    set(mutated ${directory}/${filename})
    set(compiled ${mutated})
  endif()
  file(CONFIGURE OUTPUT ${mutated} CONTENT "@source@" @ONLY)  # written only if it differs

  set(target world_mutant_${name})
  add_executable(${target} $<TARGET_OBJECTS:stout_world> ${compiled})
  target_include_directories(${target} BEFORE PRIVATE ${directory})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/libstout/src)
  target_link_libraries(${target} PRIVATE stout::core stout::sim)
  target_compile_options(${target} PRIVATE -w -g0)  # a mutant may leave a parameter unused
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${directory})
  add_test(NAME "world_test/mutant ${name}" COMMAND ${target} --expect-violation --seeds 10000)
  set_tests_properties("world_test/mutant ${name}" PROPERTIES LABELS mutants TIMEOUT 300)
endfunction()
