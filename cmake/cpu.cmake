# The CPU backend. The kernel sources are compiled once for every instruction set level, each time in a namespace of its
# own. The level is chosen once at start.
set(_levels baseline)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND _levels v3 v4)
endif()
set(_flags_baseline "")
set(_flags_v3 -march=x86-64-v3)
set(_flags_v4 -march=x86-64-v4)

file(GLOB _cpu_headers RELATIVE ${CMAKE_SOURCE_DIR}/src CONFIGURE_DEPENDS src/backends/cpu/*.h
                                                                           src/backends/cpu/kernels/*.h)
gs_expose(cpu ${_cpu_headers})

# Reductions are many small loops that wait for memory. Vector code makes rows 3 times faster. Loop transformations that
# copy loops for special cases gain nothing, and make the object code half as large again.
set_source_files_properties(src/backends/cpu/kernels/kernel_combine.cpp PROPERTIES COMPILE_OPTIONS
  "$<$<CXX_COMPILER_ID:GNU>:-fno-unroll-loops;-fno-peel-loops;-fno-split-loops;-fno-unswitch-loops>")

# Of the small-call path too (CMakeLists.txt): where they lay moved a take of 16 elements with out= between 46 and 58 ns,
# from one build to the next (Zen 5).
set_source_files_properties(src/backends/cpu/kernels/kernel_short.cpp src/backends/cpu/small_move.cpp
                            PROPERTIES COMPILE_OPTIONS "-falign-functions=64;-falign-loops=32")
file(GLOB _cpu_kernels CONFIGURE_DEPENDS src/backends/cpu/kernels/*.cpp)
set(_cpu_objects "")
foreach(level ${_levels})
  add_library(gs_cpu_${level} OBJECT ${_cpu_kernels})
  target_compile_definitions(gs_cpu_${level} PRIVATE GS_ISA=${level} GS_ISA_NAME="${level}")
  target_compile_options(gs_cpu_${level} PRIVATE -O3 $<$<CXX_COMPILER_ID:GNU>:-fno-tree-loop-distribute-patterns>
                                                ${_flags_${level}})
  target_link_libraries(gs_cpu_${level} PRIVATE gs_flags gs_headers_backend gs_headers_cpu)
  list(APPEND _cpu_objects $<TARGET_OBJECTS:gs_cpu_${level}>)
endforeach()

file(GLOB _cpu_sources CONFIGURE_DEPENDS src/backends/cpu/*.cpp)
add_library(gs_cpu STATIC ${_cpu_sources} ${_cpu_objects})
target_link_libraries(gs_cpu PRIVATE gs_flags gs_headers_cpu PUBLIC gs_backend)
list(TRANSFORM _levels REPLACE "(.+)" "GS_LEVEL(\\1)")
list(JOIN _levels " " _levels)
target_compile_definitions(gs_cpu PRIVATE "GS_LEVELS=${_levels}")
