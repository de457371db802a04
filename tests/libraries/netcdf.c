/* SPDX-License-Identifier: Apache-2.0 */
/* NetCDF numbers open files for the process. */
#include <netcdf.h>

#include "work.h"

enum { COUNT = 500 };

int main(int argc, char **argv) {
  int rank = work_start(&argc, &argv), file, dimension, variable;
  char name[4096];
  double data[COUNT], sum = 0;
  snprintf(name, sizeof name, "%s/netcdf.%d", argv[1], rank);
  WORK(nc_create(name, rank % 2 == 0 ? NC_CLOBBER | NC_NETCDF4 : NC_CLOBBER, &file) == NC_NOERR);
  WORK(nc_def_dim(file, "x", COUNT, &dimension) == NC_NOERR);
  WORK(nc_def_var(file, "data", NC_DOUBLE, 1, &dimension, &variable) == NC_NOERR);
  WORK(nc_enddef(file) == NC_NOERR);
  for (int i = 0; i < COUNT; i++) data[i] = i * 0.5 + rank;
  work_mix();
  WORK(nc_put_var_double(file, variable, data) == NC_NOERR && nc_close(file) == NC_NOERR);
  work_mix();
  WORK(nc_open(name, NC_NOWRITE, &file) == NC_NOERR);
  WORK(nc_inq_varid(file, "data", &variable) == NC_NOERR);
  WORK(nc_get_var_double(file, variable, data) == NC_NOERR && nc_close(file) == NC_NOERR);
  for (int i = 0; i < COUNT; i++) sum += data[i];
  return work_end(sum);
}
