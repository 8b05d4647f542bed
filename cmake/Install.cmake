# Installs what stout_library(... INSTALL) and stout_program(... INSTALL) declared, so that
#
#   find_package(stout 0.1 COMPONENTS rocksdb)
#
# finds stout::rocksdb, what it needs of ours, and the packages that those need, nothing more.
# A component is a library; what it needs is read from what it links. `pkg-config --cflags --libs
# stout` names them all together, for other build systems.

include(CMakePackageConfigHelpers)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/stout)
set(needs "")  # lines of the configuration file
set(components "")
set(all_packages "")
set(libraries "")

get_property(targets GLOBAL PROPERTY STOUT_INSTALL_TARGETS)
foreach(target IN LISTS targets)
  get_target_property(component ${target} EXPORT_NAME)
  install(TARGETS ${target} EXPORT stout-${component} FILE_SET HEADERS)
  install(EXPORT stout-${component} NAMESPACE stout:: DESTINATION ${config_dir})

  get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
  list(TRANSFORM links REPLACE [[^\$<LINK_ONLY:(.*)>$]] [[\1]])
  set(ours ${links})
  list(FILTER ours INCLUDE REGEX "^stout::")
  list(TRANSFORM ours REPLACE "^stout::" "")
  set(packages ${links})
  list(FILTER packages EXCLUDE REGEX "^stout::")
  list(FILTER packages INCLUDE REGEX "::")
  list(TRANSFORM packages REPLACE "^Boost::json$" "boost_json::json")  # as Boost's packages go
  list(TRANSFORM packages REPLACE "::.*" "")
  list(REMOVE_DUPLICATES packages)
  list(APPEND components ${component})
  list(APPEND all_packages ${packages})
  list(PREPEND libraries "-l$<TARGET_FILE_BASE_NAME:${target}>")  # before those that it needs
  string(APPEND needs "set(stout_${component}_components ${ours})\n"
                      "set(stout_${component}_packages ${packages})\n")
endforeach()
list(JOIN components " " components)
string(REPLACE ";" " " needs "${needs}")

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/stoutConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/stoutConfig.cmake
                              INSTALL_DESTINATION ${config_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/stoutConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/stoutConfig.cmake ${PROJECT_BINARY_DIR}/stoutConfigVersion.cmake
        DESTINATION ${config_dir})

# RocksDB 7 and 9 have a file of pkg-config, as the others do; Boost has none.
set(pc_of_fmt fmt)
set(pc_of_spdlog spdlog)
set(pc_of_PostgreSQL libpq)
set(pc_of_RocksDB rocksdb)
set(requires "")
foreach(package IN LISTS all_packages)
  list(APPEND requires ${pc_of_${package}})
endforeach()
if(TARGET stout_resp)
  list(APPEND requires hiredis)
endif()
if(TARGET stout_adapters_registry)
  list(APPEND libraries -lboost_json)
endif()
list(REMOVE_DUPLICATES requires)
list(JOIN requires " " requires)
list(JOIN libraries " " libraries)
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR} OR IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
  set(pc_libdir ${CMAKE_INSTALL_FULL_LIBDIR})
  set(pc_includedir ${CMAKE_INSTALL_FULL_INCLUDEDIR})
else()  # the tree may be moved
  file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  set(pc_prefix "\${pcfiledir}/${up}")
  set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
  set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/stout.pc.in ${PROJECT_BINARY_DIR}/stout.pc.in @ONLY)
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/stout.pc INPUT ${PROJECT_BINARY_DIR}/stout.pc.in)
install(FILES ${PROJECT_BINARY_DIR}/stout.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

get_property(installed_programs GLOBAL PROPERTY STOUT_INSTALL_PROGRAMS)
if(installed_programs)
  install(TARGETS ${installed_programs})
  install(FILES ${PROJECT_SOURCE_DIR}/docs/scenario.schema.json ${PROJECT_SOURCE_DIR}/docs/grid.schema.json
          DESTINATION ${CMAKE_INSTALL_DATADIR}/stout)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/stout)
