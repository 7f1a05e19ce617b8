# cmake --install: the library, the public headers, find_package(jumok), the program (apps/cli/CMakeLists.txt).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package "${CMAKE_INSTALL_LIBDIR}/cmake/jumok")

install(TARGETS jumok_archive_attention jumok_archive_jumok EXPORT jumok ARCHIVE)
install(DIRECTORY include/jumok TYPE INCLUDE FILES_MATCHING PATTERN "*.h")
install(EXPORT jumok FILE jumokTargets.cmake NAMESPACE jumok:: DESTINATION "${package}")
configure_package_config_file(cmake/jumokConfig.cmake.in "${CMAKE_BINARY_DIR}/jumokConfig.cmake" INSTALL_DESTINATION "${package}")
write_basic_package_version_file("${CMAKE_BINARY_DIR}/jumokConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/jumokConfig.cmake" "${CMAKE_BINARY_DIR}/jumokConfigVersion.cmake" cmake/JumokFindLibrary.cmake
  DESTINATION "${package}")
