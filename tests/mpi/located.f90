! SPDX-License-Identifier: Apache-2.0
! Mistakes of a Fortran program; located.py looks where reports say they are. The first argument says which.
program located
  use mpi
  implicit none
  character(16) :: how
  integer :: ierr, rank, comm, word, request
  logical :: done

  call get_command_argument(1, how)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  word = rank
  select case (how)
  case ("hangs")
    if (rank == 0) call MPI_Recv(word, 1, MPI_INTEGER, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
  case ("leaks")
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
  case ("fails")
    if (rank == 0) call MPI_Send(word, 1, MPI_INTEGER, 9, 7, MPI_COMM_WORLD, ierr)
  case ("polls")
    call MPI_Irecv(word, 1, MPI_INTEGER, 1 - rank, 7, MPI_COMM_WORLD, request, ierr)
    done = .false.
    do while (.not. done)
      call MPI_Test(request, done, MPI_STATUS_IGNORE, ierr)
    end do
  end select
  call MPI_Finalize(ierr)
end program
