! SPDX-License-Identifier: Apache-2.0
! mpif.h in fixed form: one subroutine gets buffers of several types, COMMON is each rank's own.
      program fixed
      implicit none
      include 'mpif.h'
      integer error, rank, ranks, status(MPI_STATUS_SIZE), i, request
      integer ring(3), left, right, key, twin, value
      logical found
      external doubled
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
      call MPI_KEYVAL_CREATE(doubled, MPI_NULL_DELETE_FN, key, 3, error)
      call MPI_ATTR_PUT(MPI_COMM_WORLD, key, -21, error)
      call MPI_COMM_DUP(MPI_COMM_WORLD, twin, error)
      call MPI_ATTR_GET(twin, key, value, found, error)
      if (.not. found .or. value .ne. -39) call fail(8)
      call MPI_COMM_FREE(twin, error)
      call MPI_ATTR_DELETE(MPI_COMM_WORLD, key, error)
      call MPI_KEYVAL_FREE(key, error)
      call MPI_KEYVAL_CREATE(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, key,
     &                       0, error)
      call MPI_ATTR_PUT(MPI_COMM_WORLD, key, 1, error)
      call MPI_COMM_DUP(MPI_COMM_WORLD, twin, error)
      call MPI_ATTR_GET(twin, key, value, found, error)
      if (found) call fail(9)
      call MPI_COMM_FREE(twin, error)
      call MPI_FINALIZE(error)
      end

      subroutine doubled(comm, keyval, extra, value, copy, flag, failed)
      implicit none
      integer comm, keyval, extra, value, copy, failed
      logical flag
      copy = 2 * value + extra
      flag = .true.
      failed = 0
      end

      subroutine fail(what)
      implicit none
      include 'mpif.h'
      integer what, error
      print *, 'fixed_form.f: check', what, ' failed'
      call MPI_ABORT(MPI_COMM_WORLD, what, error)
      end
