# The layers below the Python modules: flags, the headers that each layer sees, and static libraries. No file here needs
# Python.

# ---- flags that every target shares
add_library(gs_flags INTERFACE)
set(_warnings -Wall -Wextra -Wconversion -Wshadow)
# GCC 12 warns of an overlap in "text" + std::string that is impossible (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND _warnings -Wno-restrict)
endif()
set(_nvcc_errors "")
if(GS_WERROR)
  list(APPEND _warnings -Werror)
  set(_nvcc_errors "SHELL:-Werror all-warnings")
endif()
string(REPLACE ";" "," _host_flags "${_warnings};-ffp-contract=off")
target_compile_options(gs_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:${_warnings};-ffp-contract=off>"
  "$<$<COMPILE_LANGUAGE:CUDA>:${_nvcc_errors};-Xcompiler=${_host_flags}>")
if(GS_SANITIZE)
  set(_sanitized -fsanitize=${GS_SANITIZE} -fno-omit-frame-pointer -g1)
  if(NOT GS_FUZZ)  # without the optimizations of loops, instrumented code compiles in 0.3 to 0.6 of the time
    list(APPEND _sanitized -O1)
  endif()
  target_compile_options(gs_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${_sanitized}>")
  target_link_options(gs_flags INTERFACE -fsanitize=${GS_SANITIZE})
endif()

# ---- layers: a target can include only the headers of the layers that it links, so an include against the layering does
# not build.
# gs_expose(<layer> <path>...): defines gs_headers_<layer>; targets that link it can include these paths below src/.
function(gs_expose layer)
  add_library(gs_headers_${layer} INTERFACE)
  set(root ${CMAKE_BINARY_DIR}/layers/${layer})
  foreach(path ${ARGN})
    get_filename_component(folder ${root}/${path} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    file(CREATE_LINK ${CMAKE_SOURCE_DIR}/src/${path} ${root}/${path} SYMBOLIC)
  endforeach()
  target_include_directories(gs_headers_${layer} INTERFACE ${root})
endfunction()

gs_expose(core core)
gs_expose(plans plans)
gs_expose(calls calls)
gs_expose(host host)
gs_expose(backend backends/backend.h backends/column_kernels.h backends/gradient_kernels.h backends/group_kernels.h
           backends/table_tuning.h)
gs_expose(device backends/devices.h backends/device)
gs_expose(reference backends/reference)
gs_expose(arrow arrow)
gs_expose(table table)
gs_expose(segments segments)
gs_expose(bindings bindings)
gs_expose(jax jax)
target_link_libraries(gs_headers_backend INTERFACE gs_headers_core gs_headers_host)
target_link_libraries(gs_headers_device INTERFACE gs_headers_backend)

add_library(gs_core STATIC src/core/plan.cpp src/core/array_view.cpp src/core/first_outside.cpp
                           src/core/first_duplicate.cpp src/core/repeat_positions.cpp
                           src/core/pick_positions.cpp)
target_link_libraries(gs_core PRIVATE gs_flags PUBLIC gs_headers_core)

add_library(gs_plans STATIC src/plans/checks.cpp src/plans/along_axis.cpp src/plans/take_axis.cpp src/plans/at_points.cpp
                            src/plans/elementwise.cpp)
target_link_libraries(gs_plans PRIVATE gs_flags PUBLIC gs_headers_plans gs_core)

# The host: processors, settings, memory, threads.
add_library(gs_host STATIC src/host/affinity.cpp src/host/file_mapping.cpp src/host/host_info.cpp
                           src/host/huge_pages.cpp src/host/memory_pool.cpp src/host/page_list.cpp
                           src/host/saved_tuning.cpp src/host/settings.cpp src/host/thread_pool.cpp
                           src/host/thread_scratch.cpp src/host/zero_pages.cpp)
# These files read the host and its settings once, at import.
set_source_files_properties(src/host/host_info.cpp src/host/saved_tuning.cpp src/host/settings.cpp
  PROPERTIES COMPILE_OPTIONS -Os)
target_compile_definitions(gs_host PRIVATE GS_VERSION="${GS_VERSION}")
target_link_libraries(gs_host PRIVATE gs_flags PUBLIC gs_headers_host gs_headers_core Threads::Threads)

add_library(gs_backend STATIC src/backends/backend.cpp)
target_link_libraries(gs_backend PRIVATE gs_flags gs_headers_device PUBLIC gs_headers_backend gs_core gs_host)

# The meaning of a call: checks, repetition, overlap, duplicates, tiles, deferred checks. No Python.
file(GLOB _call_sources CONFIGURE_DEPENDS src/calls/*.cpp)
# The run time of these files does not depend on the size of a call, and small calls of plain arrays pass them by, except
# for one that moves their items.
set_source_files_properties(src/calls/tile_points.cpp PROPERTIES COMPILE_OPTIONS -O3)
add_library(gs_calls STATIC ${_call_sources})
target_compile_options(gs_calls PRIVATE -Os)
target_link_libraries(gs_calls PRIVATE gs_flags PUBLIC gs_headers_calls gs_plans gs_backend)

# Groups of points. Its loops run once for each point.
file(GLOB _segment_sources CONFIGURE_DEPENDS src/segments/*.cpp)
add_library(gs_segments STATIC ${_segment_sources})
target_compile_options(gs_segments PRIVATE -O3)
target_link_libraries(gs_segments PRIVATE gs_flags PUBLIC gs_headers_segments gs_core gs_host gs_backend)

# The orchestration: which kernel bodies run, and in which order, on any machine. It is compiled for size, because the
# bodies do the work.
file(GLOB _device_sources CONFIGURE_DEPENDS src/backends/device/*.cpp)
add_library(gs_device STATIC ${_device_sources})
target_compile_options(gs_device PRIVATE -Os)
target_link_libraries(gs_device PRIVATE gs_flags PUBLIC gs_headers_device gs_backend)

# The reference backend: the kernel bodies compiled for the CPU, the machine that runs them there, and the backend that
# uses this machine.
add_library(gs_reference STATIC src/backends/reference/host_machine.cpp)
# The kernel bodies run on the CPU as a check alone. -O1 halves the time of this file, with -O3 the longest of a cold build.
target_compile_options(gs_reference PRIVATE -O1)
target_link_libraries(gs_reference PRIVATE gs_flags PUBLIC gs_headers_reference gs_headers_device)
add_library(gs_reference_backend STATIC src/backends/reference/reference_backend.cpp)
target_compile_options(gs_reference_backend PRIVATE -Os)
target_link_libraries(gs_reference_backend PRIVATE gs_flags gs_headers_reference PUBLIC gs_device)

include(cmake/cpu.cmake)

add_library(gs_backends STATIC src/backends/registry.cpp)
target_link_libraries(gs_backends PRIVATE gs_flags gs_cpu gs_reference_backend PUBLIC gs_device)

# Arrow's arrays. The run time of the files compiled for size does not depend on the number of rows.
file(GLOB _arrow_sources CONFIGURE_DEPENDS src/arrow/*.cpp)
set_source_files_properties(src/arrow/type.cpp src/arrow/read_format.cpp src/arrow/fault.cpp src/arrow/import_type.cpp
  src/arrow/import_stream.cpp PROPERTIES COMPILE_OPTIONS -Os)
add_library(gs_arrow STATIC ${_arrow_sources})
target_compile_options(gs_arrow PRIVATE -O3)
target_link_libraries(gs_arrow PRIVATE gs_flags PUBLIC gs_headers_arrow gs_core)

# The table operators on the host, which see no device, and above them those on a device and the selection that chooses
# between both.
file(GLOB _table_sources CONFIGURE_DEPENDS src/table/*.cpp)
file(GLOB _table_device_sources CONFIGURE_DEPENDS src/table/device/*.cpp)
list(REMOVE_ITEM _table_sources ${CMAKE_SOURCE_DIR}/src/table/row_selection.cpp)
set_source_files_properties(src/table/frame.cpp src/table/take_frame.cpp
  PROPERTIES COMPILE_OPTIONS -Os)
add_library(gs_table STATIC ${_table_sources})
target_compile_options(gs_table PRIVATE -O3)
target_link_libraries(gs_table PRIVATE gs_flags PUBLIC gs_headers_table gs_arrow gs_host gs_backend)
add_library(gs_table_device STATIC src/table/row_selection.cpp ${_table_device_sources})
target_link_libraries(gs_table_device PRIVATE gs_flags PUBLIC gs_table gs_device)

# What is compiled for size, and planners, are compiled several files at a time if GS_UNITY is ON.
set_target_properties(gs_core gs_plans gs_calls gs_device gs_table_device PROPERTIES
  UNITY_BUILD ${GS_UNITY} UNITY_BUILD_BATCH_SIZE 8)

# These libraries are compiled file by file, for the sake of their loops. What most files include is precompiled, which
# changes no code. Files compiled for size cannot read it.
if(GS_UNITY AND GS_PRECOMPILE AND NOT GS_SANITIZE)
  foreach(target gs_table gs_arrow gs_cpu gs_host)
    get_target_property(_sources ${target} SOURCES)
    foreach(source ${_sources})
      get_source_file_property(_own ${source} COMPILE_OPTIONS)
      if(_own)
        set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
      endif()
    endforeach()
    if(target STREQUAL "gs_table")
      target_precompile_headers(gs_table PRIVATE <algorithm> <atomic> <memory> <optional> <string> <vector>)
    else()
      target_precompile_headers(${target} REUSE_FROM gs_table)
    endif()
  endforeach()
endif()
