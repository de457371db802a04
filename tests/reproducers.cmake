# SPDX-License-Identifier: Apache-2.0
# Label `reproducer`: tests that began as a user's program which went wrong. `./dev check -L reproducer` runs all of
# them, `./dev asan -L reproducer` and `./dev tsan -L reproducer` run what a sanitizer can run.
set(of_ranks abi abuse arguments bindings built calls causes collectives concurrent contexts descriptors endings environment
    environments files fixed_form fortran futures interrupted joins launched lent loading locks mappings mistakes modern
    nonblocking objects opening openmp operations options outstanding output owned private process pthreads python
    ranks_table reports requests ring rounding sessions signals spawn spinning stacks standstill states threads timers windows)
set(of_threads calls deadlock exceptions fork_join fp_control handover limits memory namespaces overflow priority stacks yield)
list(JOIN of_ranks | of_ranks)
list(JOIN of_threads | of_threads)
set(reproducers "^mpi\\.(${of_ranks})(\\.|$)|^(${of_threads})\\.(native-[128]|ucontext|kernel)$|^interop\\.|^libraries\\.fftw$")

# Adds the label to those tests of the calling folder.
function(mltp_label_reproducers)
  get_property(tests DIRECTORY PROPERTY TESTS)
  foreach(test IN LISTS tests)
    if(test MATCHES "${reproducers}")
      set_property(TEST ${test} APPEND PROPERTY LABELS reproducer)
    endif()
  endforeach()
endfunction()
