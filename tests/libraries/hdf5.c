/* SPDX-License-Identifier: Apache-2.0 */
/* HDF5 keeps open files and identifiers for the process; it is closed at exit. */
#include <hdf5.h>

#include "work.h"

enum { COUNT = 1000 };

int main(int argc, char **argv) {
  int rank = work_start(&argc, &argv), data[COUNT];
  char name[4096];
  hsize_t size = COUNT;
  double sum = 0;
  snprintf(name, sizeof name, "%s/hdf5.%d", argv[1], rank);
  hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hid_t space = H5Screate_simple(1, &size, NULL);
  hid_t set =
      H5Dcreate2(file, "data", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  WORK(file >= 0 && space >= 0 && set >= 0);
  for (int i = 0; i < COUNT; i++) data[i] = i * rank;
  work_mix();
  WORK(H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  WORK(H5Dclose(set) >= 0 && H5Sclose(space) >= 0 && H5Fclose(file) >= 0);
  work_mix();
  file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
  set = H5Dopen2(file, "data", H5P_DEFAULT);
  WORK(H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  for (int i = 0; i < COUNT; i++) sum += data[i];
  H5Dclose(set);
  H5Fclose(file);
  return work_end(sum);
}
