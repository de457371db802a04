#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what fails in place of each function of MPI that a job of several nodes does not have.

A function that is not named here is refused, so that a new one is not wrong over nodes before it is right.
"""
import argparse
import pathlib
import re

PROTOTYPE = re.compile(r"^int MPI_(\w+)\(", re.M)
# What concerns the calling rank alone, or goes by messages, or has a form for nodes (src/tmpi/coll/nodes.h).
LOCAL = r"""Init|Init_thread|Initialized|Finalized|Query_thread|Is_thread_main|Abort|Get_processor_name|Get_version
    |Get_library_version|Abi_\w+|Get_hw_resource_info|Pcontrol|Alloc_mem|Free_mem|Wait(all|any|some)?|Test(all|any|some)?
    |Request_\w+|Cancel|Test_cancelled|Get_count|Get_elements(_x)?|Status_\w+|Grequest_\w+|Reduce_local|Op_\w+
    |Comm_(size|rank|remote_size|remote_group|compare|test_inter|get_parent|group|free|(set|get)_(name|info|attr)|delete_attr)
    |Comm_(create|free)_keyval|Comm_(create|set|get|call)_errhandler|Comm_\w+_buffer|Buffer_\w+|Group_(?!from)\w+
    |Type_\w+|Keyval_\w+|Attr_\w+|Errhandler_\w+|Error_\w+|(Add|Remove)_error_\w+|Get_address|(Unp|P)ack\w*|Dims_create
    |Topo_test|Cart_(?!create|sub)\w+|Cartdim_get|Graph_(?!create)\w+|Graphdims_get|Dist_graph_neighbors\w*
    |(Open|Close)_port|(Unp|P)ublish_name|Lookup_name
    |Session_\w+|Group_from_session_pset|P(send|recv)_init|Pready\w*|Parrived|Register_datarep|Info_\w+|T_\w+|\w+_(c2f|f2c|toint|fromint)"""
# Refused when they are made for members on several nodes: src/tmpi/rma/create.c, src/tmpi/io/open.c.
OBJECTS = r"""Win_\w+|R?(put|get|accumulate|get_accumulate)|Put|Get|Accumulate|Get_accumulate|Fetch_and_op|Compare_and_swap|File_\w+"""
MESSAGES = r"""I?[bsr]?send|[BSR]send|Send|I?recv|Recv|I?sendrecv(_replace)?|Sendrecv(_replace)?|I?m?probe|Probe|Mprobe|I?mrecv|Mrecv
    |Isendrecv(_replace)?|[BSR]?send_init|Send_init|Recv_init|Start(all)?"""
COLLECTIVES = r"""Barrier|Bcast|Reduce|Allreduce|(Allg|G)atherv?|Scatterv?|Alltoall[vw]?|(Exs|S)can|Reduce_scatter(_block)?
    |Neighbor_allgatherv?|Neighbor_alltoall[vw]?"""
TOGETHER = rf"""Finalize|({COLLECTIVES})(_init)?|I(?i:{COLLECTIVES})
    |Comm_(i?dup(_with_info)?|create|create_group|create_from_group|split|split_type|disconnect|accept|connect|join
    |spawn|spawn_multiple)
    |Intercomm_(create|create_from_groups|merge)|Cart_(create|sub)|Graph_create|Dist_graph_create(_adjacent)?"""
AVAILABLE = re.compile(f"({LOCAL}|{OBJECTS}|{MESSAGES}|{TOGETHER})(_c)?", re.X)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("headers", type=pathlib.Path, nargs="+")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    args = parser.parse_args()
    names = {name for header in args.headers for name in PROTOTYPE.findall(header.read_text())}
    refused = sorted(name for name in names if not AVAILABLE.fullmatch(name))
    text = '#include <stddef.h>\n#include <stdint.h>\n#include <string.h>\n\n'
    text += '#include "tmpi/match/far.h"\n#include "tmpi/nodes/nodes.h"\n\n'
    text += "".join(f'static int refuse_{name}(void) {{ return tm_far_refuse(NULL, "MPI_{name}"); }}\n' for name in refused)
    text += "\nconst void *tm_nodes_refusal(const char *name) {\n  if (*name == 'P') name++;\n"
    text += "".join(f'  if (strcmp(name, "MPI_{name}") == 0) return (const void *)(uintptr_t)refuse_{name};\n' for name in refused)
    text += "  return NULL;\n}\n"
    args.out.write_text(text)


if __name__ == "__main__":
    main()
