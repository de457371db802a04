# SPDX-License-Identifier: Apache-2.0
"""What a project with mpi4py relies on: each rank is a process of its own."""
import os
import random
import subprocess
import sys
from array import array

import pytest
from mpi4py import MPI

import plate


def test_objects(comm):
    received = comm.alltoall([{"from": comm.rank, "to": to, "text": "x" * 10 ** to} for to in range(comm.size)])
    assert [(word["from"], word["to"], len(word["text"])) for word in received] == [
        (rank, comm.rank, 10 ** comm.rank) for rank in range(comm.size)]


def test_requests(comm):
    values = [array("i", [-1]) for _ in range(comm.size)]
    requests = [comm.Irecv(values[source], source=source, tag=3) for source in range(comm.size)]
    requests += [comm.Isend(array("i", [comm.rank * 10 + to]), dest=to, tag=3) for to in range(comm.size)]
    MPI.Request.Waitall(requests)
    assert [value[0] for value in values] == [source * 10 + comm.rank for source in range(comm.size)]


def test_window(comm):
    window = MPI.Win.Allocate(8 * comm.size, 8, comm=comm)
    window.Fence()
    for target in range(comm.size):
        window.Put(array("d", [comm.rank + 0.5]), target, target=(comm.rank, 1, MPI.DOUBLE))
    window.Fence()
    assert array("d", bytes(window.tomemory())).tolist() == [rank + 0.5 for rank in range(comm.size)]
    window.Free()


def test_file(comm, shared_folder):
    file = MPI.File.Open(comm, shared_folder / "numbers", MPI.MODE_CREATE | MPI.MODE_RDWR)
    file.Write_at_all(4 * comm.rank, array("i", [comm.rank + 1]))
    file.Sync()
    comm.Barrier()
    found = array("i", [0] * comm.size)
    file.Read_at_all(0, found)
    file.Close()
    assert found.tolist() == [rank + 1 for rank in range(comm.size)]


def test_split(comm):
    half = comm.Split(comm.rank % 2, comm.rank)
    assert half.allreduce(comm.rank) == sum(range(comm.rank % 2, comm.size, 2))
    half.Free()


def test_errors_are_exceptions(comm):
    with pytest.raises(MPI.Exception) as caught:
        comm.send(None, dest=comm.size)
    assert caught.value.Get_error_class() == MPI.ERR_RANK


def test_modules_are_own(comm):
    plate.mark = comm.rank
    random.seed(comm.rank)
    drawn = random.random()
    comm.Barrier()
    assert plate.mark == comm.rank
    random.seed(comm.rank)
    assert random.random() == drawn


def test_environment_is_own(comm, monkeypatch):
    monkeypatch.setenv("WHOSE", str(comm.rank))
    comm.Barrier()
    child = subprocess.run([sys.executable, "-c", "import os; print(os.environ['WHOSE'])"], capture_output=True, text=True,
                           check=True)
    assert child.stdout.strip() == str(comm.rank)


def test_folder_is_own(comm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    comm.Barrier()
    with open("mine", "w", encoding="utf-8") as file:
        file.write(str(comm.rank))
    comm.Barrier()
    with open("mine", encoding="utf-8") as file:
        assert file.read() == str(comm.rank)
    assert os.getcwd() == str(tmp_path) and len(set(comm.allgather(tmp_path))) == comm.size


def test_output_is_captured(comm, capfd):
    print("printed by", comm.rank)
    os.write(1, b"written\n")
    comm.Barrier()
    assert capfd.readouterr().out == f"printed by {comm.rank}\nwritten\n"


def test_fails_in_one_rank(comm, failing):
    comm.Barrier()
    assert not failing
