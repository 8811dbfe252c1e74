# The CUDA backend: kernel bodies compiled by nvcc, and the machine that runs them, in plain C++. It is a module of its
# own, `_cuda`, so that no other target needs CUDA. It links the runtime library statically; the driver is searched for
# at run time.
set(GS_CUDA AUTO CACHE STRING "Build the CUDA module: AUTO (if this machine has a GPU and nvcc), ON or OFF")
set_property(CACHE GS_CUDA PROPERTY STRINGS AUTO ON OFF)
set(GS_CUDA_ARCHITECTURES "" CACHE STRING
    "GPUs to compile for, such as 80-real,90-real, or native; empty: native for AUTO, all GPUs of a wheel for ON")
set(GS_CUDA_PACKAGE gatherscatter CACHE STRING "Python package that the CUDA module is installed into")
set(_oldest_nvcc 12.8)

set(GS_HAVE_CUDA FALSE)
if(NOT GS_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "GS_CUDA=${GS_CUDA}: expected AUTO, ON or OFF")
elseif(GS_CUDA STREQUAL "OFF")
  message(STATUS "CUDA: not built, because GS_CUDA is OFF")
  return()
elseif(GS_CUDA STREQUAL "AUTO")
  # Five architectures take minutes to compile, which is wasted on a machine without a GPU.
  find_program(GS_NVIDIA_SMI nvidia-smi PATHS /usr/lib/wsl/lib)
  mark_as_advanced(GS_NVIDIA_SMI)
  set(_gpus "")
  if(GS_NVIDIA_SMI)
    # A driver that hangs counts as no GPU.
    execute_process(COMMAND ${GS_NVIDIA_SMI} -L TIMEOUT 30 OUTPUT_VARIABLE _gpus ERROR_QUIET)
  endif()
  if(NOT _gpus MATCHES "GPU [0-9]+:")
    message(STATUS "CUDA: not built, because GS_CUDA is AUTO and nvidia-smi lists no GPU here. "
                   "GS_CUDA=ON builds it without a GPU.")
    return()
  endif()
endif()

if("${CMAKE_CUDA_COMPILER}" MATCHES "NOTFOUND")
  unset(CMAKE_CUDA_COMPILER CACHE)  # a compiler may have been installed since the last run
endif()
include(CheckLanguage)
check_language(CUDA)
if(CMAKE_CUDA_COMPILER)
  enable_language(CUDA)
  if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS _oldest_nvcc)
    set(_why "${CMAKE_CUDA_COMPILER} is version ${CMAKE_CUDA_COMPILER_VERSION}; ${_oldest_nvcc} or newer is needed")
  elseif(NOT CMAKE_CUDA_COMPILER_ID STREQUAL "NVIDIA")
    set(_why "${CMAKE_CUDA_COMPILER} is not NVIDIA's nvcc")
  else()
    set(GS_HAVE_CUDA TRUE)
  endif()
else()
  set(_why "there is no CUDA compiler (nvcc) on PATH, in CUDACXX or in CMAKE_CUDA_COMPILER, or it does not work")
endif()
if(NOT GS_HAVE_CUDA)
  if(GS_CUDA STREQUAL "ON")
    message(FATAL_ERROR "GS_CUDA=ON: ${_why}. To build without GPUs, set GS_CUDA=OFF")
  endif()
  message(STATUS "CUDA: not built: ${_why}")
  return()
endif()

# With -real an architecture gets machine code, which runs on its own generation from its number on (80: also 86 to 89).
# A plain number adds intermediate code, which the driver compiles for all newer GPUs.
string(REPLACE "," ";" _architectures "${GS_CUDA_ARCHITECTURES}")
if(_architectures STREQUAL "" AND (GS_CUDA STREQUAL "ON" OR NOT CMAKE_CUDA_ARCHITECTURES_NATIVE))
  set(_architectures 75-real 80-real 90-real 100 120)
elseif(_architectures STREQUAL "" OR _architectures STREQUAL "native")
  set(_architectures ${CMAKE_CUDA_ARCHITECTURES_NATIVE})
endif()
if(NOT _architectures MATCHES "^[0-9]+(-real|-virtual)?(;[0-9]+(-real|-virtual)?)*$")
  message(FATAL_ERROR "GS_CUDA_ARCHITECTURES=${GS_CUDA_ARCHITECTURES}: expected numbers such as 90 or 80-real,90-real, "
                      "or native on a machine with a GPU")
endif()
string(REPLACE ";" "," _architectures_text "${_architectures}")
message(STATUS "CUDA: ${CMAKE_CUDA_COMPILER_VERSION}, for ${_architectures_text}")
# PyPI's toolkit has no link named libcudart.so, which CMake searches for.
cmake_path(GET CMAKE_CUDA_COMPILER PARENT_PATH _nvcc_folder)
find_library(CUDA_CUDART NAMES cudart cudart_static HINTS ${_nvcc_folder}/../lib64 ${_nvcc_folder}/../lib NO_DEFAULT_PATH)
find_package(CUDAToolkit REQUIRED)
if(GS_CORE)
  if(NOT TARGET gs_cuda)
    message(FATAL_ERROR "GS_CORE=${GS_CORE} was built without CUDA")
  endif()
  return()
endif()

file(GLOB _cuda_headers RELATIVE ${CMAKE_SOURCE_DIR}/src CONFIGURE_DEPENDS src/backends/cuda/*.h src/backends/cuda/*.cuh)
gs_expose(cuda ${_cuda_headers})
file(GLOB _cuda_kernels CONFIGURE_DEPENDS src/backends/cuda/*.cu)
set(GS_CUDA_HOST_SOURCES src/backends/cuda/call.cpp src/backends/cuda/devices.cpp src/backends/cuda/driver.cpp
                         src/backends/cuda/kernels.cpp src/backends/cuda/machine.cpp src/backends/cuda/resources.cpp)
add_library(gs_cuda STATIC ${_cuda_kernels} ${GS_CUDA_HOST_SOURCES})
set_target_properties(gs_cuda PROPERTIES
  CUDA_ARCHITECTURES "${_architectures}" CUDA_RUNTIME_LIBRARY Static CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON
  CUDA_EXTENSIONS OFF CUDA_VISIBILITY_PRESET hidden)
# A fused product and sum would give other results than the CPU.
target_compile_options(gs_cuda PRIVATE
  "$<$<COMPILE_LANGUAGE:CUDA>:-fmad=false>" "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Xfatbin --compress-all>")
target_compile_definitions(gs_cuda PRIVATE GS_CUDA_ARCHITECTURES="${_architectures_text}")
target_link_libraries(gs_cuda PRIVATE gs_flags PUBLIC gs_headers_cuda gs_headers_device CUDA::cudart_static)
