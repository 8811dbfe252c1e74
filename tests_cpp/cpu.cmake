# The tests of the CPU backend, which also use its internal headers.
gs_test(test_thread_pool gs_host)
gs_test(test_memory_pool gs_host)
gs_test(test_host_info gs_cpu gs_headers_cpu)
gs_test(test_cpu_kernels gs_backends gs_cpu gs_headers_cpu)
gs_test(test_form gs_backends gs_cpu gs_headers_cpu)
gs_test(test_rows gs_backends gs_cpu gs_headers_cpu)
gs_test(test_columns gs_backends gs_reference gs_cpu gs_headers_cpu)
gs_test(test_parallel_scatter gs_backends gs_reference gs_cpu gs_headers_cpu)
gs_test(test_disjoint_rows gs_backends gs_cpu gs_headers_cpu)
# Device kernels on the emulated GPU, with the cases of the CPU backend.
gs_test(test_device_move gs_backends gs_reference gs_cpu gs_headers_cpu)
gs_test(test_device_reduce gs_backends gs_reference gs_cpu gs_headers_cpu)

# A sanitizer adds start-up code to every object, which this check would report.
if(TARGET gs_cpu_v4 AND NOT GS_SANITIZE)
  add_test(NAME check_isa_leaks
           COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/check_isa_leaks.sh $<TARGET_OBJECTS:gs_cpu_v3>
                   $<TARGET_OBJECTS:gs_cpu_v4>
           COMMAND_EXPAND_LISTS)
endif()
