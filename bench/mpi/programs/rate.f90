! SPDX-License-Identifier: Apache-2.0
! Message rate from Fortran: rank 0 has 64 messages of 8 bytes under way to rank 1, which answers.
! rate: the shortest of 20 batches counts, each of some 64,000 messages; the line is that of measure.h.
program rate
  use mpi
  implicit none
  integer, parameter :: messages = 64, rounds = 1000, batches = 20
  integer :: rank, ranks, error, batch, round, i, wrong, all_wrong
  integer :: requests(messages)
  double precision :: numbers(messages), answer, start, taken, best
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  best = huge(best)
  wrong = 0
  answer = 0
  do batch = 1, batches
    call MPI_Barrier(MPI_COMM_WORLD, error)
    start = MPI_Wtime()
    do round = 1, rounds
      if (rank == 0) then
        do i = 1, messages
          numbers(i) = batch * rounds + round + i
          call MPI_Isend(numbers(i), 1, MPI_DOUBLE_PRECISION, 1, 1, MPI_COMM_WORLD, requests(i), error)
        end do
        call MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE, error)
        call MPI_Recv(answer, 1, MPI_DOUBLE_PRECISION, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
      else if (rank == 1) then
        do i = 1, messages
          call MPI_Irecv(numbers(i), 1, MPI_DOUBLE_PRECISION, 0, 1, MPI_COMM_WORLD, requests(i), error)
        end do
        call MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE, error)
        do i = 1, messages
          if (numbers(i) /= batch * rounds + round + i) wrong = wrong + 1
        end do
        call MPI_Send(answer, 1, MPI_DOUBLE_PRECISION, 0, 2, MPI_COMM_WORLD, error)
      end if
    end do
    call MPI_Barrier(MPI_COMM_WORLD, error)
    taken = MPI_Wtime() - start
    best = min(best, taken)
  end do
  call MPI_Reduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
  if (rank == 0) then
    write (*, '(a,i0,a,f14.1,a,a,a)') '{"row": "rate", "bytes": 8, "ranks": ', ranks, ', "wall_ns": ', &
      best / rounds / messages * 1d9, ', "verified": ', trim(merge('true ', 'false', all_wrong == 0)), '}'
  end if
  call MPI_Finalize(error)
end program rate
