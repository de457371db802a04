# SPDX-License-Identifier: Apache-2.0
# The models of `mltp-bench sim`: those of the ContextThreads report, in the sizes of programs/sim.c.
set(specc ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/specc)
set(model_dir ${PROJECT_BINARY_DIR}/libexec/mltp)
set(models)
function(sim_model name macro)
  set(file ${PROJECT_SOURCE_DIR}/examples/specc/${name}.sc)
  foreach(size ${ARGN})
    set(program ${model_dir}/sim-${name}-${size})
    add_custom_command(OUTPUT ${program}
                       COMMAND ${CMAKE_COMMAND} -E make_directory ${model_dir}
                       COMMAND ${CMAKE_COMMAND} -E env CC=${CMAKE_C_COMPILER} ${specc} -D${macro}=${size} ${file} -o ${program}
                       DEPENDS ${file} mltp_static mltp_sim_static VERBATIM)
    set(models ${models} ${program})
  endforeach()
  set(models ${models} PARENT_SCOPE)
endfunction()
sim_model(prodcons ITERATIONS 5000000 500000 50000 5000)
sim_model(TFMUL MAXTHREAD 100000 10000 1000 100)
# The same models in SystemC.
if(TARGET mltp_systemc)
  foreach(model prodcons TFMUL)
    string(TOLOWER ${model} name)
    add_executable(sim-${model}-systemc ${PROJECT_SOURCE_DIR}/examples/systemc/${name}.cpp)
    set_target_properties(sim-${model}-systemc PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${model_dir} CXX_STANDARD 17) # as Debian's library
    target_link_libraries(sim-${model}-systemc PRIVATE PkgConfig::SYSTEMC)
  endforeach()
endif()
add_custom_target(sim_models ALL DEPENDS ${models})
