/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file shown.h
 * What tmpirun and its modules use of libmpi_abi; the rest of it shows MPI_ and PMPI_ only. Each
 * name is also in mpi_abi.map.
 */
#ifndef TM_RANK_SHOWN_H
#define TM_RANK_SHOWN_H

#define TM_SHOWN __attribute__((visibility("default")))

#endif
