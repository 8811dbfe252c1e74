# The CUDA backend: kernel bodies compiled by nvcc, and the machine that runs them, plain C++. A module of its own,
# `_cuda`, so that nothing else needs CUDA. It links the runtime library statically; the driver is looked for at run time.
set(GS_CUDA AUTO CACHE STRING "Build the CUDA module: AUTO (where there is a GPU, and nvcc), ON or OFF")
set_property(CACHE GS_CUDA PROPERTY STRINGS AUTO ON OFF)
set(GS_CUDA_ARCHITECTURES "" CACHE STRING
    "GPUs to compile for, such as 80-real,90-real, or native; empty: native for AUTO, all that a wheel serves for ON")
set(_oldest_nvcc 12.8)

set(GS_HAVE_CUDA FALSE)
if(NOT GS_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "GS_CUDA=${GS_CUDA}: expected AUTO, ON or OFF")
elseif(GS_CUDA STREQUAL "OFF")
  message(STATUS "CUDA: left out, because GS_CUDA is OFF")
  return()
elseif(GS_CUDA STREQUAL "AUTO")
  # Five architectures take minutes to compile, which only a machine that can run one of them pays back.
  find_program(GS_NVIDIA_SMI nvidia-smi PATHS /usr/lib/wsl/lib)
  mark_as_advanced(GS_NVIDIA_SMI)
  set(_gpus "")
  if(GS_NVIDIA_SMI)
    # A driver that hangs is no GPU either.
    execute_process(COMMAND ${GS_NVIDIA_SMI} -L TIMEOUT 30 OUTPUT_VARIABLE _gpus ERROR_QUIET)
  endif()
  if(NOT _gpus MATCHES "GPU [0-9]+:")
    message(STATUS "CUDA: left out, because GS_CUDA is AUTO and nvidia-smi names no GPU here. "
                   "GS_CUDA=ON compiles for GPUs all the same.")
    return()
  endif()
endif()

if("${CMAKE_CUDA_COMPILER}" MATCHES "NOTFOUND")
  unset(CMAKE_CUDA_COMPILER CACHE)  # there may be one since the last time
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
    message(FATAL_ERROR "GS_CUDA=ON: ${_why}. Without GPUs: GS_CUDA=OFF")
  endif()
  message(STATUS "CUDA: left out: ${_why}")
  return()
endif()

# Machine code runs on its own generation from its number on (80: also 86 to 89); that is what -real means. What a plain
# number has besides is compiled by the driver for all newer ones.
string(REPLACE "," ";" _architectures "${GS_CUDA_ARCHITECTURES}")
if(_architectures STREQUAL "" AND (GS_CUDA STREQUAL "ON" OR NOT CMAKE_CUDA_ARCHITECTURES_NATIVE))
  set(_architectures 75-real 80-real 90-real 100 120)
elseif(_architectures STREQUAL "" OR _architectures STREQUAL "native")
  set(_architectures ${CMAKE_CUDA_ARCHITECTURES_NATIVE})
endif()
if(NOT _architectures MATCHES "^[0-9]+(-real|-virtual)?(;[0-9]+(-real|-virtual)?)*$")
  message(FATAL_ERROR "GS_CUDA_ARCHITECTURES=${GS_CUDA_ARCHITECTURES}: expected numbers such as 90 or 80-real,90-real, "
                      "or native where there is a GPU")
endif()
string(REPLACE ";" "," _architectures_text "${_architectures}")
message(STATUS "CUDA: ${CMAKE_CUDA_COMPILER_VERSION}, for ${_architectures_text}")
# PyPI's toolkit has no link named libcudart.so, by which CMake would know it.
cmake_path(GET CMAKE_CUDA_COMPILER PARENT_PATH _nvcc_folder)
find_library(CUDA_CUDART NAMES cudart cudart_static HINTS ${_nvcc_folder}/../lib64 ${_nvcc_folder}/../lib NO_DEFAULT_PATH)
find_package(CUDAToolkit REQUIRED)

file(GLOB _cuda_headers RELATIVE ${CMAKE_SOURCE_DIR}/src CONFIGURE_DEPENDS src/backends/cuda/*.h src/backends/cuda/*.cuh)
gs_expose(cuda ${_cuda_headers})
file(GLOB _cuda_kernels CONFIGURE_DEPENDS src/backends/cuda/*.cu)
set(GS_CUDA_HOST_SOURCES src/backends/cuda/call.cpp src/backends/cuda/devices.cpp src/backends/cuda/driver.cpp
                         src/backends/cuda/kernels.cpp src/backends/cuda/machine.cpp src/backends/cuda/resources.cpp)
add_library(gs_cuda STATIC ${_cuda_kernels} ${GS_CUDA_HOST_SOURCES})
set_target_properties(gs_cuda PROPERTIES
  CUDA_ARCHITECTURES "${_architectures}" CUDA_RUNTIME_LIBRARY Static CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON
  CUDA_EXTENSIONS OFF CUDA_VISIBILITY_PRESET hidden)
# No product is fused with a sum: results would differ from the CPU's.
target_compile_options(gs_cuda PRIVATE
  "$<$<COMPILE_LANGUAGE:CUDA>:-fmad=false>" "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Xfatbin --compress-all>")
target_compile_definitions(gs_cuda PRIVATE GS_CUDA_ARCHITECTURES="${_architectures_text}")
target_link_libraries(gs_cuda PRIVATE gs_flags PUBLIC gs_headers_cuda gs_headers_device CUDA::cudart_static)
