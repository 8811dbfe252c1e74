# Checks that GS_CORE is a build folder of this version, GS_VERSION: the modules and the libraries that they link share
# C++ interfaces. A test runs this file as a script: cmake -DGS_CORE=.. -DGS_VERSION=.. -P cmake/core_version.cmake
if(NOT EXISTS "${GS_CORE}/gs_layers.cmake")
  message(FATAL_ERROR "GS_CORE=${GS_CORE} is no build folder of gatherscatter: it has no gs_layers.cmake")
endif()
set(_core_version "an unknown version")
if(EXISTS "${GS_CORE}/gs_version.txt")
  file(READ "${GS_CORE}/gs_version.txt" _core_version)
endif()
if(NOT _core_version STREQUAL GS_VERSION)
  message(FATAL_ERROR "GS_CORE=${GS_CORE} was built of ${_core_version}, and these sources are ${GS_VERSION}: build it again")
endif()
