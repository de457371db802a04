# SPDX-License-Identifier: Apache-2.0
# Tests of single files of src/tmpi without ranks: the test stands in for all that is around them.

# step_test(NAME FILES file... [WRAPS function...] [BESIDE file...]) makes mpi.NAME of NAME.c. FILES are below src/tmpi. WRAPS:
# functions of libc that the test has instead. BESIDE: further files of the test.
function(step_test name)
  cmake_parse_arguments(PARSE_ARGV 1 of "" "" "FILES;WRAPS;BESIDE")
  list(TRANSFORM of_FILES PREPEND ${PROJECT_SOURCE_DIR}/src/tmpi/)
  add_executable(mpi_${name} ${name}.c ${of_BESIDE} ${of_FILES})
  set_target_properties(mpi_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  target_compile_definitions(mpi_${name} PRIVATE _GNU_SOURCE)
  # It runs for milliseconds: to optimise it takes longer. A warning that wants that comes with the library's own objects.
  target_compile_options(mpi_${name} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O0>)
  target_include_directories(mpi_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include
                             ${PROJECT_BINARY_DIR}/include ${PROJECT_BINARY_DIR}/include/tmpi)
  target_link_libraries(mpi_${name} PRIVATE PkgConfig::cmocka)
  list(TRANSFORM of_WRAPS PREPEND LINKER:--wrap=)
  target_link_options(mpi_${name} PRIVATE ${of_WRAPS})
  add_dependencies(mpi_${name} mpi_abi) # it makes headers
  add_test(NAME mpi.${name} COMMAND mpi_${name})
  set(step_tests ${step_tests} mpi.${name} PARENT_SCOPE)
endfunction()

set(counted_blocks malloc calloc aligned_alloc free) # counted_blocks.h

# bindings, attr, check, error, object
step_test(fortran_arguments FILES bindings/convert.c WRAPS ${counted_blocks})
step_test(fortran_calls FILES bindings/start.c bindings/spawn.c bindings/removed.c WRAPS free)
step_test(fortran_records FILES bindings/attributes.c bindings/requests.c WRAPS free)
step_test(fortran_functions FILES bindings/callbacks.c bindings/datarep.c WRAPS free)
foreach(file attributes callbacks convert datarep removed requests spawn start) # their names are Fortran's
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/tmpi/bindings/${file}.c PROPERTIES COMPILE_OPTIONS
                              -Wno-missing-prototypes)
endforeach()
step_test(array_sections FILES bindings/section.c WRAPS ${counted_blocks})
step_test(kept_attributes FILES attr/attribute.c attr/keyval.c object/hash.c WRAPS ${counted_blocks} realloc)
step_test(findings FILES check/finding.c check/summary.c)
step_test(agreed FILES check/order.c WRAPS ${counted_blocks})
step_test(seen_calls FILES check/module.c WRAPS malloc calloc free)
step_test(signatures FILES check/signature.c check/type_match.c)
step_test(calling_threads FILES check/threads.c WRAPS calloc)
step_test(in_use FILES check/buffers.c object/hash.c WRAPS ${counted_blocks})
step_test(left_over FILES check/leaks.c check/unreceived.c object/hash.c WRAPS ${counted_blocks})
step_test(added_codes FILES error/code.c WRAPS ${counted_blocks} realloc strdup)
step_test(hash_tables FILES object/hash.c WRAPS ${counted_blocks})
step_test(reported_errors FILES error/errors.c)
step_test(teams FILES object/team.c object/hash.c WRAPS ${counted_blocks})
step_test(conflicts FILES check/windows.c object/hash.c WRAPS malloc free) # the table of hashes stays

if(TARGET tmpi_check) # there is jansson
  step_test(counted_calls FILES check/traffic.c WRAPS malloc calloc fopen fclose)
  target_link_libraries(mpi_counted_calls PRIVATE PkgConfig::json)
endif()

# coll, comm
step_test(gangs FILES coll/gang.c coll/worker.c object/hash.c WRAPS ${counted_blocks})
step_test(started_collectives FILES coll/nonblocking.c WRAPS ${counted_blocks})
step_test(collective_arguments FILES coll/arguments.c coll/validate.c coll/kinds.c WRAPS malloc)
step_test(collective_messages FILES coll/message.c WRAPS malloc calloc free)
step_test(made_operations FILES coll/op.c WRAPS malloc free)
step_test(phase_waits FILES coll/pair.c coll/barrier_spin.c)
step_test(offered_bcasts FILES coll/offer.c)
step_test(reduction_calls FILES coll/reduce.c WRAPS malloc free)
if(MLTP_NODES)
  step_test(comm_lives FILES object/comm.c object/group.c object/span.c WRAPS ${counted_blocks})
  step_test(worlds FILES object/world.c object/group.c WRAPS ${counted_blocks})
  step_test(created FILES comm/create.c object/span.c WRAPS ${counted_blocks})
endif()
step_test(inter_memory FILES comm/intercomm.c comm/from_group.c object/comm.c object/group.c WRAPS ${counted_blocks})
step_test(spawning FILES comm/spawn.c WRAPS gethostname uname ${counted_blocks})
step_test(spawn_orders FILES comm/spawn_order.c)
step_test(spawn_turns FILES comm/spawn_nodes.c comm/spawn_order.c WRAPS ${counted_blocks})
step_test(node_questions FILES comm/registry.c io/shared_pointer.c WRAPS ${counted_blocks})
if(MLTP_NODES AND NOT MLTP_SANITIZE STREQUAL "thread") # which does not know their stacks
  foreach(name node_collectives node_exchanges)
    step_test(${name} FILES coll/nodes.c coll/nodes_each.c coll/nodes_reduce.c coll/message.c object/span.c layout/copy.c
              WRAPS malloc calloc free)
  endforeach()
endif()

# env, fortran
step_test(job_starts FILES env/job.c WRAPS ${counted_blocks})
step_test(rank_starts FILES env/init.c WRAPS ${counted_blocks} _exit gethostname)
step_test(numbered_handles FILES fortran/handles.c WRAPS ${counted_blocks})

# io, loader
step_test(node_files FILES io/several_nodes.c WRAPS fcntl fstat)
step_test(representations FILES io/representation.c WRAPS ${counted_blocks})
step_test(network_files FILES io/network.c WRAPS fstatfs statx open close dup3 fstat)
step_test(libraries FILES loader/cache.c loader/search.c loader/policy.c)
step_test(fits FILES loader/room.c env/several.c)
foreach(name images image_symbols)
  step_test(${name} FILES loader/image.c loader/symbols.c loader/notes.c WRAPS ${counted_blocks} strdup)
endforeach()
foreach(name relocations shared_symbols)
  step_test(${name} FILES loader/relocate.c loader/image.c loader/symbols.c loader/notes.c
            WRAPS ${counted_blocks} strdup realloc dlsym dlvsym dladdr dladdr1)
endforeach()
foreach(name slots filled_slots)
  step_test(${name} FILES loader/program.c WRAPS ${counted_blocks})
endforeach()
step_test(opened_objects FILES loader/open.c WRAPS ${counted_blocks} realloc dlsym dlvsym)
step_test(listed_objects FILES loader/unwind.c WRAPS dlsym dladdr)
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/tmpi/loader/unwind.c PROPERTIES
                            COMPILE_DEFINITIONS "dl_iterate_phdr=iterate_objects;_dl_find_object=find_object"
                            COMPILE_OPTIONS -Wno-missing-prototypes)
step_test(copies FILES loader/locals.c loader/maps.c WRAPS ${counted_blocks} dlopen dlclose)
step_test(needed_libraries FILES loader/libraries.c loader/preloaded.c loader/beside.c
          WRAPS ${counted_blocks} strdup realloc dlopen dlinfo dlclose dlerror dlsym)

# layout
step_test(copied_pieces FILES layout/copy.c layout/type.c layout/predefined.c layout/recipe.c layout/reference.c)

# mailbox, match, part, rma
if(NOT MLTP_SANITIZE) # as mpi.request_pool
  step_test(request_slabs FILES mailbox/request_pool.c WRAPS malloc aligned_alloc free)
endif()
step_test(buffer_account FILES match/bsend_buffer.c WRAPS ${counted_blocks})
step_test(deferred FILES match/deferred.c)
step_test(dozes FILES match/complete.c match/mailbox_probe.c mailbox/queue.c)
if(MLTP_NODES)
  step_test(spins FILES match/rank_wait.c)
endif()
step_test(intake_moves FILES match/intake_move.c mailbox/queue.c)
foreach(name far_messages far_cancels)
  step_test(${name} FILES match/far.c match/far_cancel.c mailbox/queue.c WRAPS malloc calloc free)
endforeach()
step_test(partitioned_calls FILES part/partitioned.c)
step_test(channels FILES part/channel.c part/channel_far.c WRAPS ${counted_blocks})
step_test(posts FILES rma/post.c)
foreach(name window_notes window_accesses)
  step_test(${name} FILES rma/far_origin.c rma/far_target.c rma/far_notes.c rma/far_large.c layout/copy.c WRAPS ${counted_blocks})
endforeach()
step_test(made_windows FILES rma/create.c WRAPS ${counted_blocks})
step_test(window_epochs FILES rma/fence.c rma/flush.c rma/region.c WRAPS ${counted_blocks})
if(NOT MLTP_SANITIZE STREQUAL "thread") # as above
  step_test(window_locks FILES rma/lock.c rma/wait.c)
  step_test(spawn_served FILES comm/spawn_service.c WRAPS free)
endif()

# p2p
step_test(probes FILES p2p/probe.c)
step_test(library_threads FILES p2p/isendrecv.c p2p/buffer.c WRAPS ${counted_blocks})

# private
step_test(rank_environment FILES private/environment.c WRAPS pthread_mutex_lock pthread_mutex_unlock calloc getauxval)
step_test(lookup_errors FILES private/lookups.c WRAPS ${counted_blocks} realloc)
foreach(file environment lookups) # which define _GNU_SOURCE themselves
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/tmpi/private/${file}.c PROPERTIES COMPILE_OPTIONS -U_GNU_SOURCE)
endforeach()

# rank
step_test(job_notes FILES rank/rank.c WRAPS getrandom getpid fflush _exit)
step_test(code_turns FILES rank/user_code.c)

# report
step_test(reasons FILES report/cause.c report/cause_arrived.c report/cause_collective.c report/text.c WRAPS ${counted_blocks})
step_test(described FILES report/report.c report/text.c report/gathered.c WRAPS ${counted_blocks})
step_test(peeked FILES report/activity.c report/activity_window.c WRAPS ${counted_blocks})
step_test(frames FILES report/location.c WRAPS dladdr dl_iterate_phdr)

# run
step_test(joined FILES run/joined.c BESIDE noted_events.c)
step_test(hosts FILES run/hosts.c WRAPS gethostname geteuid getaddrinfo freeaddrinfo realloc readlink execv)
step_test(wraps FILES run/wrapper.c run/prefix.c WRAPS execv readlink calloc)
step_test(launching FILES run/launch.c WRAPS malloc calloc free pthread_atfork)
step_test(intervals FILES run/waiting.c run/vps.c run/standstill.c)
step_test(ends FILES run/rank_end.c WRAPS ${counted_blocks})
step_test(watch_steps FILES run/watch.c WRAPS _exit sigaction)
step_test(watcher FILES run/watch.c run/rank_end.c WRAPS _exit)
step_test(kernel_waits FILES run/blocking.c run/interrupted_calls.c WRAPS sem_trywait sem_wait sem_clockwait flock syscall)
step_test(flushes FILES run/flush.c)
step_test(more_ranks FILES run/spawn.c WRAPS access realpath strdup ${counted_blocks})
foreach(name own_signals sent_signals)
  step_test(${name} FILES run/signals.c WRAPS gettid sigaction pthread_sigmask raise ${counted_blocks})
endforeach()
step_test(join_records FILES run/joins.c WRAPS malloc free)
step_test(output_lines FILES run/output.c WRAPS raise calloc realloc fopencookie)
foreach(name signal_requests signal_sends)
  step_test(${name} FILES run/signal_calls.c WRAPS sigaction signal pthread_sigmask sigprocmask sigpending pause sigsuspend sigwait
            sigwaitinfo sigtimedwait raise kill siglongjmp)
endforeach()
set(libcs_actions init destroy addclose addclosefrom_np adddup2 addopen addchdir_np addfchdir_np addtcsetpgrp_np)
list(TRANSFORM libcs_actions PREPEND posix_spawn_file_actions_)
step_test(child_actions FILES run/spawn_actions.c WRAPS ${libcs_actions} strdup reallocarray free)
step_test(rank_children FILES run/children.c
          WRAPS fork forkpty posix_spawn posix_spawnp pidfd_spawn pidfd_spawnp posix_spawn_file_actions_destroy wait4 waitid getpgid
          getpgrp ${counted_blocks})
step_test(rank_commands FILES run/children.c
          WRAPS fork forkpty posix_spawn posix_spawnp pidfd_spawn pidfd_spawnp posix_spawn_file_actions_destroy
          posix_spawn_file_actions_adddup2 wait4 waitid getpgid getpgrp pipe2 fdopen system popen pclose ${counted_blocks})
foreach(name rank_streams rank_stream_calls rank_files)
  step_test(${name} FILES run/streams.c
            WRAPS fcntl dup2 dup3 close closefrom close_range open write writev fileno fopen tmpfile fdopen freopen fflush fclose dirfd
            closedir malloc posix_spawn_file_actions_adddup2 posix_spawn_file_actions_addclose)
endforeach()
step_test(launcher_words FILES run/foreign_options.c run/parts.c WRAPS setenv chdir calloc realloc free)
step_test(modules_found FILES run/modules.c WRAPS dlopen dlsym dlerror calloc free)
if(NOT MLTP_SANITIZE) # which have a pthread_create() of their own
  step_test(kernel_ranks FILES run/openmp.c run/python.c WRAPS getenv setenv dl_iterate_phdr realpath access dladdr dlsym)
endif()
step_test(replaced_programs FILES run/programs.c run/shared.c
          WRAPS execve execv execvp execvpe fexecve execveat daemon getpid readlink readlinkat realpath)
step_test(shared_streams FILES run/unlocked.c run/wide.c
          WRAPS flockfile funlockfile fputc_unlocked __overflow fputs_unlocked fwrite_unlocked fread_unlocked fgetc_unlocked
          fgets_unlocked fflush fflush_unlocked fcloseall __fsetlocking setvbuf fputwc fputwc_unlocked __woverflow fputws
          fputws_unlocked fwide vfwprintf open_wmemstream fclose)
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/tmpi/run/unlocked.c PROPERTIES COMPILE_OPTIONS -fno-inline) # calls are calls
step_test(record_calls FILES run/record_locks.c WRAPS fcntl lockf)
step_test(own_zones FILES run/zone.c run/critical.c run/units.c
          WRAPS getenv setenv unsetenv tzset mktime localtime_r strftime calloc)
step_test(fork_order FILES run/fork_handlers.c WRAPS malloc free dlsym)
step_test(rank_exits FILES run/ending.c WRAPS dlsym _exit quick_exit abort on_exit vwarn vwarnx error error_at_line vasprintf free)
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/tmpi/run/ending.c PROPERTIES COMPILE_DEFINITIONS exit=exit_of_ranks
                            COMPILE_OPTIONS -Wno-missing-prototypes)
step_test(crash_reports FILES run/crash.c WRAPS mmap munmap clone waitpid _exit alarm sigprocmask raise getpid fflush)
step_test(audits FILES run/audited.c loader/beside.c WRAPS dlopen dlinfo dlclose access asprintf free)
step_test(argp_as_libc FILES run/argument_parser.c WRAPS exit)
foreach(name rank_threads thread_ends)
  step_test(${name} FILES run/threads.c WRAPS dlsym gettid sched_setaffinity pthread_sigmask ${counted_blocks})
endforeach()
if(NOT MLTP_SANITIZE STREQUAL "thread") # which reports mutexes that another kernel thread has locked
  step_test(held_locks FILES run/locks.c)
endif()
step_test(rank_frames FILES run/locations.c WRAPS dladdr dl_iterate_phdr)
step_test(descriptor_owners FILES run/owners.c WRAPS fstat fcntl close open dup3 posix_spawn_file_actions_addclose ${counted_blocks})
step_test(meant_descriptors FILES run/descriptors.c WRAPS open openat creat shm_open pipe pipe2 socketpair signalfd ioctl epoll_pwait
          poll __poll_chk ppoll select pselect)
step_test(rank_objects FILES run/objects.c WRAPS dlopen dlmopen dlsym dlvsym dlclose dlerror dlinfo dladdr dladdr1)
step_test(rank_locales FILES run/locales.c WRAPS newlocale duplocale freelocale uselocale nl_langinfo_l setlocale localeconv
          ${counted_blocks})
step_test(tmpirun_starts FILES run/tmpirun.c WRAPS realpath _exit)
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/tmpi/run/tmpirun.c PROPERTIES COMPILE_DEFINITIONS main=tmpirun_main
                            COMPILE_OPTIONS -Wno-missing-prototypes)
step_test(launcher_variables FILES run/environment.c WRAPS malloc getauxval getenv)
step_test(carried_folders FILES run/working_directory.c WRAPS open fcntl close fchdir chdir umask calloc)
step_test(number_notes FILES run/process_number.c WRAPS getpid time access unlink unlinkat remove shm_unlink sem_open sem_unlink)
step_test(wrapper_ends FILES run/wrapped.c WRAPS exit _exit fork waitpid execv getenv setenv unsetenv mkstemp close unlink
          sigprocmask sigaction signal getpid getppid prctl kill raise setrlimit)
step_test(thread_values FILES run/keys.c WRAPS ${counted_blocks})
step_test(rank_timers FILES run/timers.c WRAPS timer_create timer_delete timer_settime timer_gettime setitimer getitimer alarm
          ualarm pthread_sigmask ${counted_blocks})
step_test(fixed_ranges FILES run/mappings.c WRAPS mmap munmap mremap shmat shmdt shmctl realloc pthread_attr_getstack
          pthread_attr_destroy)

# nodes
step_test(node_notes FILES nodes/rest.c nodes/counts.c)
step_test(node_links FILES nodes/links.c)
if(TARGET tmpi_nodes) # there are UCX's headers
  step_test(node_packets FILES nodes/packets.c)
  step_test(node_meets FILES nodes/pmix.c WRAPS dlopen dlsym dlerror sem_timedwait clock_gettime usleep
            BESIDE node_launcher.c noted_events.c)
  step_test(node_opens FILES nodes/ucx_open.c nodes/wakeups.c WRAPS dlopen dlsym dlerror clock_gettime calloc
            BESIDE noted_events.c)
  foreach(name node_messages node_serves)
    step_test(${name} FILES nodes/ucx.c WRAPS pthread_create pthread_detach poll sched_yield malloc free
              BESIDE node_transport.c noted_events.c)
  endforeach()
  foreach(name node_packets node_meets node_opens node_messages node_serves)
    target_include_directories(mpi_${name} SYSTEM PRIVATE $<TARGET_PROPERTY:tmpi_nodes,INCLUDE_DIRECTORIES>)
  endforeach()
endif()
