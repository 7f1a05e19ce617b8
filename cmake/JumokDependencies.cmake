# The outside libraries, all of them Debian packages; docs/decisions.md says why each is here.
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
include(JumokFindLibrary)
