# SPDX-License-Identifier: Apache-2.0
"""The sections of the page, in their order: one module each, with section(results)."""
from . import anderson_lifecycle, anderson_model, anderson_spin, contextthreads, coordination, echo, growth, mpi, mpi_programs, \
    mpi_wait, peers, smt, summary, systemc, thesis_matmul, thesis_ocean, thesis_pi, thesis_switch

ALL = (summary, peers, growth, thesis_switch, thesis_pi, thesis_matmul, thesis_ocean, anderson_lifecycle,
       anderson_spin, anderson_model, mpi, mpi_programs, mpi_wait, echo, coordination, contextthreads, systemc, smt)
