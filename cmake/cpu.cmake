# The CPU backend: one kernel source compiled for every instruction set level, each in a namespace of its own; the level
# is chosen once at start.
set(_levels baseline)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND _levels v3 v4)
endif()
set(_flags_baseline "")
set(_flags_v3 -march=x86-64-v3)
set(_flags_v4 -march=x86-64-v4)

file(GLOB _cpu_headers RELATIVE ${CMAKE_SOURCE_DIR}/src CONFIGURE_DEPENDS src/backends/cpu/*.h)
gs_expose(cpu ${_cpu_headers})

# Reductions are many small loops that wait for memory. Vectors pay for rows (3 times); copies of loops for every case
# do not, and make them half as large again.
set_source_files_properties(src/backends/cpu/kernel_combine.cpp PROPERTIES COMPILE_OPTIONS
  "$<$<CXX_COMPILER_ID:GNU>:-fno-unroll-loops;-fno-peel-loops;-fno-split-loops;-fno-unswitch-loops>")

set(_cpu_objects "")
foreach(level ${_levels})
  add_library(gs_cpu_${level} OBJECT src/backends/cpu/kernels.cpp src/backends/cpu/kernel_combine.cpp
                                       src/backends/cpu/kernel_columns.cpp src/backends/cpu/kernel_short.cpp)
  target_compile_definitions(gs_cpu_${level} PRIVATE GS_ISA=${level} GS_ISA_NAME="${level}")
  target_compile_options(gs_cpu_${level} PRIVATE -O3 $<$<CXX_COMPILER_ID:GNU>:-fno-tree-loop-distribute-patterns>
                                                ${_flags_${level}})
  target_link_libraries(gs_cpu_${level} PRIVATE gs_flags gs_headers_core gs_headers_backend gs_headers_cpu)
  list(APPEND _cpu_objects $<TARGET_OBJECTS:gs_cpu_${level}>)
endforeach()

add_library(gs_cpu STATIC src/backends/cpu/cpu.cpp src/backends/cpu/prepare.cpp src/backends/cpu/scatter.cpp
                          src/backends/cpu/apart.cpp src/backends/cpu/slab.cpp src/backends/cpu/small_move.cpp
                          src/backends/cpu/thread_pool.cpp src/backends/cpu/affinity.cpp
                          src/backends/cpu/host_info.cpp src/backends/cpu/host_settings.cpp
                          src/backends/cpu/host_memory.cpp ${_cpu_objects})
target_link_libraries(gs_cpu PRIVATE gs_flags gs_headers_backend gs_headers_cpu PUBLIC gs_core Threads::Threads)
if("v4" IN_LIST _levels)
  target_compile_definitions(gs_cpu PRIVATE GS_HAVE_X86_LEVELS)
endif()
