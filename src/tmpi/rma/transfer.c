/* SPDX-License-Identifier: Apache-2.0 */
/* MPI_Put(), MPI_Get() and their forms: one copy, from type to type, by the origin. */
#include "tmpi/rma/access.h"

static int put(const struct tm_access_call *c) {
  struct tm_access a;
  int error = tm_access_begin(c, &a);
  if (error != MPI_SUCCESS) return error;
  if (a.target == NULL) return tm_access_end(c, &a);
  error = tm_access_part(c, &a, c->origin, c->origin_count, c->origin_type, &a.origin);
  if (error == MPI_SUCCESS) error = tm_access_fits(c, &a, a.origin.bytes, a.memory.bytes);
  if (error != MPI_SUCCESS) return error;
  tm_type_copy(a.memory.at, a.memory.type, a.origin.at, a.origin.type, a.origin.bytes);
  return tm_access_end(c, &a);
}

static int get(const struct tm_access_call *c) {
  struct tm_access a;
  int error = tm_access_begin(c, &a);
  if (error != MPI_SUCCESS) return error;
  if (a.target == NULL) return tm_access_end(c, &a);
  error = tm_access_part(c, &a, c->origin, c->origin_count, c->origin_type, &a.origin);
  if (error == MPI_SUCCESS) error = tm_access_fits(c, &a, a.memory.bytes, a.origin.bytes);
  if (error != MPI_SUCCESS) return error;
  tm_type_copy(a.origin.at, a.origin.type, a.memory.at, a.memory.type, a.memory.bytes);
  return tm_access_end(c, &a);
}

#pragma weak MPI_Put = PMPI_Put
int PMPI_Put(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
             int target_rank, MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype,
             MPI_Win win) {
  return put(&(struct tm_access_call){.call = "MPI_Put",
                                      .kind = TM_ACCESS_PUT,
                                      .origin = origin_addr,
                                      .origin_count = origin_count,
                                      .origin_type = origin_datatype,
                                      .target = target_rank,
                                      .disp = target_disp,
                                      .target_count = target_count,
                                      .target_type = target_datatype,
                                      .win = win});
}

#pragma weak MPI_Put_c = PMPI_Put_c
int PMPI_Put_c(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
               int target_rank, MPI_Aint target_disp, MPI_Count target_count,
               MPI_Datatype target_datatype, MPI_Win win) {
  return put(&(struct tm_access_call){.call = "MPI_Put_c",
                                      .kind = TM_ACCESS_PUT,
                                      .origin = origin_addr,
                                      .origin_count = origin_count,
                                      .origin_type = origin_datatype,
                                      .target = target_rank,
                                      .disp = target_disp,
                                      .target_count = target_count,
                                      .target_type = target_datatype,
                                      .win = win});
}

#pragma weak MPI_Rput = PMPI_Rput
int PMPI_Rput(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
              int target_rank, MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype,
              MPI_Win win, MPI_Request *request) {
  return put(&(struct tm_access_call){.call = "MPI_Rput",
                                      .kind = TM_ACCESS_PUT,
                                      .origin = origin_addr,
                                      .origin_count = origin_count,
                                      .origin_type = origin_datatype,
                                      .target = target_rank,
                                      .disp = target_disp,
                                      .target_count = target_count,
                                      .target_type = target_datatype,
                                      .win = win,
                                      .request = request});
}

#pragma weak MPI_Rput_c = PMPI_Rput_c
int PMPI_Rput_c(const void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                MPI_Datatype target_datatype, MPI_Win win, MPI_Request *request) {
  return put(&(struct tm_access_call){.call = "MPI_Rput_c",
                                      .kind = TM_ACCESS_PUT,
                                      .origin = origin_addr,
                                      .origin_count = origin_count,
                                      .origin_type = origin_datatype,
                                      .target = target_rank,
                                      .disp = target_disp,
                                      .target_count = target_count,
                                      .target_type = target_datatype,
                                      .win = win,
                                      .request = request});
}

#pragma weak MPI_Get = PMPI_Get
int PMPI_Get(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
             MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win) {
  return get(&(struct tm_access_call){.call = "MPI_Get",
                                      .kind = TM_ACCESS_GET,
                                      .origin = origin_addr,
                                      .origin_count = origin_count,
                                      .origin_type = origin_datatype,
                                      .target = target_rank,
                                      .disp = target_disp,
                                      .target_count = target_count,
                                      .target_type = target_datatype,
                                      .win = win});
}

#pragma weak MPI_Get_c = PMPI_Get_c
int PMPI_Get_c(void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
               int target_rank, MPI_Aint target_disp, MPI_Count target_count,
               MPI_Datatype target_datatype, MPI_Win win) {
  return get(&(struct tm_access_call){.call = "MPI_Get_c",
                                      .kind = TM_ACCESS_GET,
                                      .origin = origin_addr,
                                      .origin_count = origin_count,
                                      .origin_type = origin_datatype,
                                      .target = target_rank,
                                      .disp = target_disp,
                                      .target_count = target_count,
                                      .target_type = target_datatype,
                                      .win = win});
}

#pragma weak MPI_Rget = PMPI_Rget
int PMPI_Rget(void *origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
              MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win,
              MPI_Request *request) {
  return get(&(struct tm_access_call){.call = "MPI_Rget",
                                      .kind = TM_ACCESS_GET,
                                      .origin = origin_addr,
                                      .origin_count = origin_count,
                                      .origin_type = origin_datatype,
                                      .target = target_rank,
                                      .disp = target_disp,
                                      .target_count = target_count,
                                      .target_type = target_datatype,
                                      .win = win,
                                      .request = request});
}

#pragma weak MPI_Rget_c = PMPI_Rget_c
int PMPI_Rget_c(void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                MPI_Datatype target_datatype, MPI_Win win, MPI_Request *request) {
  return get(&(struct tm_access_call){.call = "MPI_Rget_c",
                                      .kind = TM_ACCESS_GET,
                                      .origin = origin_addr,
                                      .origin_count = origin_count,
                                      .origin_type = origin_datatype,
                                      .target = target_rank,
                                      .disp = target_disp,
                                      .target_count = target_count,
                                      .target_type = target_datatype,
                                      .win = win,
                                      .request = request});
}
