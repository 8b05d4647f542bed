# Installs what stout_library(... INSTALL) declared, so that
#
#   find_package(stout 0.1 COMPONENTS rocksdb)
#
# finds stout::rocksdb, what it needs of ours, and the packages that those need, nothing more.
# A component is a library; what it needs is read from what it links.

include(CMakePackageConfigHelpers)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/stout)
set(needs "")  # lines of the configuration file
set(components "")

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
