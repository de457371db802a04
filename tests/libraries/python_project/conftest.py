# SPDX-License-Identifier: Apache-2.0
"""What the tests share: the communicator, and a folder that all ranks have."""
import os

import pytest
from mpi4py import MPI


@pytest.fixture
def comm():
    """A communicator of the test's own."""
    own = MPI.COMM_WORLD.Dup()
    yield own
    own.Free()


@pytest.fixture
def shared_folder(comm, tmp_path):
    """The folder that rank 0's pytest has made."""
    return comm.bcast(tmp_path, root=0)


@pytest.fixture
def failing():
    """Whether this rank is to fail."""
    return os.environ.get("FAILING_RANK") == str(MPI.COMM_WORLD.rank)
