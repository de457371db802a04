# SPDX-License-Identifier: Apache-2.0
"""Heat in a plate: each rank has a strip of its rows, and exchanges edges with its neighbours."""
from array import array

from mpi4py import MPI


def step_rows(rows):
    """One step of Jacobi's method: returns the rows between the first and the last one."""
    return [array("d", [row[0], *((above[i] + below[i] + row[i - 1] + row[i + 1]) / 4 for i in range(1, len(row) - 1)), row[-1]])
            for above, row, below in zip(rows, rows[1:], rows[2:])]


class Plate:
    """The plate is hot at its upper edge. Rows at the edges stay as they are."""

    def __init__(self, comm, rows, columns):
        self.comm = comm
        base, more = divmod(rows, comm.size)
        own = base + (comm.rank < more)
        self.rows = [array("d", [0.0] * columns) for _ in range(own + 2)]
        if comm.rank == 0:
            self.rows[0] = array("d", [100.0] * columns)
        self.above = comm.rank - 1 if comm.rank > 0 else MPI.PROC_NULL
        self.below = comm.rank + 1 if comm.rank < comm.size - 1 else MPI.PROC_NULL

    def exchange(self):
        """Gets the neighbours' edges."""
        self.comm.Sendrecv(self.rows[1], dest=self.above, recvbuf=self.rows[-1], source=self.below)
        self.comm.Sendrecv(self.rows[-2], dest=self.below, recvbuf=self.rows[0], source=self.above)

    def step(self):
        """Does a step. Returns the largest change of all ranks."""
        self.exchange()
        before, self.rows[1:-1] = self.rows[1:-1], step_rows(self.rows)
        change = max((abs(a - b) for old, new in zip(before, self.rows[1:-1]) for a, b in zip(old, new)), default=0.0)
        return self.comm.allreduce(change, op=MPI.MAX)

    def gather(self):
        """Returns all rows between the edges, in each rank."""
        return [row for rows in self.comm.allgather(self.rows[1:-1]) for row in rows]
