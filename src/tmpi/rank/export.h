/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file export.h
 * What tmpirun and its modules use of libmpi_abi; the rest of it shows MPI_ and PMPI_ only. Each
 * name is also in mpi_abi.map.
 */
#ifndef TM_RANK_EXPORT_H
#define TM_RANK_EXPORT_H

#define TM_EXPORT __attribute__((visibility("default")))

#endif
