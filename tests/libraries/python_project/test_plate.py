# SPDX-License-Identifier: Apache-2.0
"""The plate of all ranks is that of one."""
import pytest
from mpi4py import MPI

from plate import Plate


@pytest.mark.parametrize("rows", [4, 7, 30])
@pytest.mark.parametrize("columns", [3, 20])
def test_is_as_in_one_rank(comm, rows, columns):
    whole, parts = Plate(MPI.COMM_SELF, rows, columns), Plate(comm, rows, columns)
    for _ in range(25):
        assert parts.step() == whole.step()
    assert parts.gather() == whole.gather()


def test_comes_to_rest(comm):
    plate = Plate(comm, 8, 8)
    changes = [plate.step() for _ in range(200)]
    assert changes[0] == 25.0
    assert changes[-1] < 0.01
    assert all(value == 100.0 for value in plate.rows[0]) == (comm.rank == 0)
