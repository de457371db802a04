! SPDX-License-Identifier: Apache-2.0
! mpif.h in fixed form: one subroutine gets buffers of several types, COMMON is each rank's own.
      program fixed
      implicit none
      include 'mpif.h'
      integer error, rank, ranks, status(MPI_STATUS_SIZE), i, request
      integer ring(3), left, right
      real*8 field(8)
      common /block/ field
      call MPI_INIT(error)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, error)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, error)
      right = mod(rank + 1, ranks)
      left = mod(rank + ranks - 1, ranks)
      do i = 1, 8
        field(i) = rank
      end do
      call MPI_ISEND(field, 8, MPI_DOUBLE_PRECISION, right, 7,
     &               MPI_COMM_WORLD, request, error)
      call MPI_WAIT(request, MPI_STATUS_IGNORE, error)
      if (request .ne. MPI_REQUEST_NULL) call fail(1)
      call MPI_RECV(field, 8, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 7,
     &              MPI_COMM_WORLD, status, error)
      if (status(MPI_SOURCE) .ne. left) call fail(2)
      if (status(MPI_TAG) .ne. 7) call fail(3)
      call MPI_GET_COUNT(status, MPI_DOUBLE_PRECISION, i, error)
      if (i .ne. 8) call fail(4)
      if (field(8) .ne. left) call fail(5)
      ring(1) = rank
      call MPI_BCAST(ring, 1, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD,
     &               error)
      if (ring(1) .ne. ranks - 1) call fail(6)
      if (MPI_WTIME() .le. 0) call fail(7)
      call MPI_FINALIZE(error)
      end

      subroutine fail(what)
      implicit none
      include 'mpif.h'
      integer what, error
      print *, 'fixed_form.f: check', what, ' failed'
      call MPI_ABORT(MPI_COMM_WORLD, what, error)
      end
