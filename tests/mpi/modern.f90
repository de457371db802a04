! SPDX-License-Identifier: Apache-2.0
! The module mpi_f08: handles and statuses are structures, and ierror may be absent.
module callbacks
  use mpi_f08
  implicit none
  integer :: copies = 0, released = 0, cancelled = 0, file_errors = 0, session_errors = 0
contains
  subroutine add(in, inout, length, kind)
    integer :: length, in(length), inout(length)
    type(MPI_Datatype) :: kind
    if (kind == MPI_INTEGER) inout = in + inout
  end subroutine add

  subroutine copy(comm, keyval, extra, from, to, flag, ierror)
    type(MPI_Comm) :: comm
    integer :: keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra, from, to
    logical :: flag
    copies = copies + merge(1, 100, comm == MPI_COMM_WORLD)
    to = from + extra
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine copy

  subroutine on_file(file, code)
    type(MPI_File) :: file
    integer :: code
    if (file == MPI_FILE_NULL .and. code /= MPI_SUCCESS) file_errors = file_errors + 1
  end subroutine on_file

  subroutine on_session(session, code)
    type(MPI_Session) :: session
    integer :: code
    if (session /= MPI_SESSION_NULL .and. code == MPI_ERR_OTHER) session_errors = session_errors + 1
  end subroutine on_session

  subroutine query(extra, status, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra
    type(MPI_Status) :: status
    integer :: ierror
    call MPI_Status_set_elements(status, MPI_INTEGER, int(extra))
    call MPI_Status_set_cancelled(status, .false.)
    ierror = MPI_SUCCESS
  end subroutine query

  subroutine release(extra, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra
    integer :: ierror
    released = int(extra)
    extra = extra + 1
    ierror = MPI_SUCCESS
  end subroutine release

  subroutine cancel(extra, complete, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra
    logical :: complete
    integer :: ierror
    if (.not. complete) cancelled = int(extra)
    ierror = MPI_SUCCESS
  end subroutine cancel

  ! A data representation: a file has each integer twice as large.
  subroutine to_file(memory, kind, number, file, position, extra, ierror)
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    type(c_ptr), value :: memory, file
    type(MPI_Datatype) :: kind
    integer :: number, ierror
    integer(kind=MPI_OFFSET_KIND) :: position
    integer(kind=MPI_ADDRESS_KIND) :: extra
    integer, pointer :: here(:), there(:)
    call c_f_pointer(memory, here, [int(position) + number])
    call c_f_pointer(file, there, [number])
    there = here(int(position) + 1:) * int(extra)
    ierror = merge(MPI_SUCCESS, MPI_ERR_TYPE, kind == MPI_INTEGER)
  end subroutine to_file

  subroutine integers_only(kind, extent, extra, ierror)
    type(MPI_Datatype) :: kind
    integer(kind=MPI_ADDRESS_KIND) :: extent, extra
    integer :: ierror
    extent = 2 * extra
    ierror = merge(MPI_SUCCESS, MPI_ERR_TYPE, kind == MPI_INTEGER)
  end subroutine integers_only
end module callbacks

program modern
  use mpi_f08
  use callbacks
  implicit none
  type(MPI_Comm) :: comm
  type(MPI_Status) :: status, list(2), back
  type(MPI_Request) :: requests(2)
  type(MPI_Datatype) :: pair
  type(MPI_Op) :: op
  integer :: rank, size, right, left, number, sum, error, keyval, old(MPI_STATUS_SIZE), values(4), length
  integer(kind=MPI_ADDRESS_KIND) :: found
  logical :: flag
  character(len=MPI_MAX_OBJECT_NAME) :: name

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size, error)
  call check(error == MPI_SUCCESS, 1)
  right = mod(rank + 1, size)
  left = mod(rank + size - 1, size)

  call MPI_Irecv(number, 1, MPI_INTEGER, left, 7, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(rank, 1, MPI_INTEGER, right, 7, MPI_COMM_WORLD, requests(2))
  call check(requests(1) /= MPI_REQUEST_NULL, 2)
  call MPI_Waitall(2, requests, list)
  call check(number == left .and. list(1)%MPI_SOURCE == left .and. list(1)%MPI_TAG == 7, 3)
  call check(all(requests == MPI_REQUEST_NULL), 4)
  call MPI_Get_count(list(1), MPI_INTEGER, length)
  call check(length == 1, 5)

  call MPI_Status_f082f(list(1), old)
  call MPI_Status_f2f08(old, back, error)
  call check(old(MPI_SOURCE) == left .and. back%MPI_TAG == 7 .and. error == MPI_SUCCESS, 6)

  call MPI_Sendrecv(rank, 1, MPI_INTEGER, right, 8, number, 1, MPI_INTEGER, left, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  call check(number == left, 7)
  call MPI_Isend(rank, 1, MPI_INTEGER, right, 9, MPI_COMM_WORLD, requests(1))
  call MPI_Irecv(number, 1, MPI_INTEGER, left, 9, MPI_COMM_WORLD, requests(2))
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)

  sum = rank + 1
  call MPI_Allreduce(MPI_IN_PLACE, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call check(sum == size * (size + 1) / 2, 8)
  call MPI_Op_create(add, .true., op)
  call MPI_Allreduce(rank, sum, 1, MPI_INTEGER, op, MPI_COMM_WORLD)
  call check(sum == size * (size - 1) / 2, 9)
  call MPI_Op_free(op)
  call check(op == MPI_OP_NULL, 10)

  call MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, keyval, 5_MPI_ADDRESS_KIND)
  call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, 100_MPI_ADDRESS_KIND)
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Comm_get_attr(comm, keyval, found, flag)
  call check(flag .and. found == 105 .and. copies == 1, 11)
  call check(comm /= MPI_COMM_WORLD .and. comm /= MPI_COMM_NULL, 12)
  call MPI_Comm_set_name(comm, "a name ")
  call MPI_Comm_get_name(comm, name, length)
  call check(name == "a name" .and. length == 6, 13)
  call MPI_Comm_free(comm)
  call MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval)

  values = [1, 2, 3, 4]
  call MPI_Type_vector(2, 1, 2, MPI_INTEGER, pair)
  call MPI_Type_commit(pair)
  if (rank /= 0) values = 0
  call MPI_Bcast(values, 1, pair, 0, MPI_COMM_WORLD)
  call check(values(1) == 1 .and. values(3) == 3 .and. (rank == 0 .or. values(2) == 0), 14)
  call MPI_Type_free(pair)

  call types_and_info()
  call requests_and_files()
  call representations()
  call large_counts()
  call newest()
  call sections()
  call sections_refused()

  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  call MPI_Send(rank, 1, MPI_INTEGER, size, 0, MPI_COMM_WORLD, error)
  call check(error == MPI_ERR_RANK, 15)
  call MPI_Recv(number, 1, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, status)
  call check(status%MPI_SOURCE == MPI_PROC_NULL, 16)
  call check(MPI_Wtime() > 0 .and. .not. MPI_SUBARRAYS_SUPPORTED, 17)
  call MPI_Finalize()
contains
  subroutine check(condition, line)
    logical, intent(in) :: condition
    integer, intent(in) :: line
    if (condition) return
    print *, "modern.f90: check", line, "on rank", rank
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine check

  subroutine types_and_info
    type(MPI_Datatype) :: twin
    type(MPI_Info) :: info
    type(MPI_Comm) :: graph
    integer :: keyval, near(1), weights(1)
    integer(kind=MPI_ADDRESS_KIND) :: found
    logical :: flag
    character(len=8) :: text

    ! A duplicate of a predefined type has the attributes that this rank gave the type.
    call MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND)
    call MPI_Type_set_attr(MPI_INTEGER, keyval, 77_MPI_ADDRESS_KIND)
    call MPI_Type_dup(MPI_INTEGER, twin)
    call MPI_Type_get_attr(twin, keyval, found, flag)
    call check(flag .and. found == 77, 20)
    call MPI_Type_free(twin)
    call MPI_Type_delete_attr(MPI_INTEGER, keyval)

    ! A value that is not there leaves the variable as it was.
    call MPI_Info_create(info)
    text = "as it was"
    call MPI_Info_get(info, "no key", 8, text, flag)
    call check(.not. flag .and. text == "as it wa", 21)
    call MPI_Info_set(info, "key", "value")
    call MPI_Info_get(info, "key", 8, text, flag)
    call check(flag .and. text == "value", 22)
    call MPI_Info_free(info)
    call check(MPI_LONG_LONG_INT == MPI_LONG_LONG .and. MPI_C_COMPLEX == MPI_C_FLOAT_COMPLEX, 23)

    ! MPI_UNWEIGHTED is an array, and so are weights.
    call MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, 1, [0], MPI_UNWEIGHTED, 1, [0], MPI_UNWEIGHTED, &
                                        MPI_INFO_NULL, .false., graph)
    call MPI_Dist_graph_neighbors(graph, 1, near, MPI_UNWEIGHTED, 1, near, MPI_UNWEIGHTED)
    call check(near(1) == 0, 24)
    call MPI_Comm_free(graph)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, 1, [0], [5], 1, [0], [5], MPI_INFO_NULL, .false., graph)
    call MPI_Dist_graph_neighbors(graph, 1, near, weights, 1, near, weights)
    call check(weights(1) == 5, 25)
    call MPI_Comm_free(graph)
  end subroutine types_and_info

  ! What MPI 4.1 and 5.0 added, and what only Fortran has.
  subroutine newest
    use, intrinsic :: iso_c_binding, only: c_ptr
    type(MPI_Status) :: status
    type(MPI_Session) :: session
    type(MPI_Errhandler) :: handler
    type(c_ptr) :: buffer
    integer :: major, minor, source, size_
    logical :: yes, no, set

    call MPI_Abi_get_version(major, minor)
    call check(major == MPI_ABI_VERSION .and. minor == MPI_ABI_SUBVERSION, 90)
    call MPI_Abi_get_fortran_booleans(4, yes, no, set)
    call check(.not. set .or. (yes .and. .not. no), 91)
    call MPI_Comm_attach_buffer(MPI_COMM_SELF, MPI_BUFFER_AUTOMATIC, 0)
    call MPI_Bsend(rank, 1, MPI_INTEGER, 0, 3, MPI_COMM_SELF)
    number = -1
    call MPI_Recv(number, 1, MPI_INTEGER, 0, 3, MPI_COMM_SELF, status)
    call MPI_F_sync_reg(number)
    call check(number == rank, 92)
    call MPI_Comm_detach_buffer(MPI_COMM_SELF, buffer, size_)
    call MPI_Status_get_source(status, source)
    call check(source == 0, 93)
    call MPI_Status_set_tag(status, 9)
    call check(status%MPI_TAG == 9, 94)
    call MPI_Session_create_errhandler(on_session, handler)
    call MPI_Session_init(MPI_INFO_NULL, handler, session)
    call MPI_Session_call_errhandler(session, MPI_ERR_OTHER)
    call check(session_errors == 1, 95)
    call MPI_Session_finalize(session)
    call MPI_Errhandler_free(handler)
  end subroutine newest

  ! Generic names take counts of both kinds.
  subroutine large_counts
    integer(kind=MPI_COUNT_KIND) :: three = 3, found, counts(0:size - 1)
    integer(kind=MPI_ADDRESS_KIND) :: places(0:size - 1)
    integer :: numbers(3), all(0:2, 0:size - 1), got(0:2, 0:size - 1), i, few
    type(MPI_Datatype) :: big, record

    numbers = rank * 10 + [1, 2, 3]
    call MPI_Sendrecv(numbers, three, MPI_INTEGER, right, 5, got, three, MPI_INTEGER, left, 5, MPI_COMM_WORLD, status)
    call check(all_are(got(:, 0), left * 10 + [1, 2, 3]), 40)
    call MPI_Get_count(status, MPI_INTEGER, found)
    call MPI_Get_count(status, MPI_INTEGER, few)
    call check(found == 3 .and. few == 3, 41)
    call MPI_Allgather(numbers, three, MPI_INTEGER, all, three, MPI_INTEGER, MPI_COMM_WORLD)
    counts = 3
    places = [(3_MPI_ADDRESS_KIND * i, i = 0, size - 1)]
    got = 0
    call MPI_Alltoallv(all, counts, places, MPI_INTEGER, got, counts, places, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all_are(got(:, left), rank * 10 + [1, 2, 3]), 42)
    call MPI_Iallreduce(MPI_IN_PLACE, numbers, three, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(1))
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    call check(numbers(1) == 10 * (size * (size - 1)) / 2 + size, 43)

    ! More elements than a default integer counts.
    call MPI_Type_contiguous(3_MPI_COUNT_KIND * 2_MPI_COUNT_KIND**30, MPI_INTEGER, big)
    call MPI_Type_size(big, found)
    call MPI_Type_size(big, few)
    call check(found == 12_MPI_COUNT_KIND * 2_MPI_COUNT_KIND**30 .and. few == MPI_UNDEFINED, 44)
    call MPI_Type_create_struct(2_MPI_COUNT_KIND, [1_MPI_COUNT_KIND, 2_MPI_COUNT_KIND], &
                                [0_MPI_COUNT_KIND, 2_MPI_COUNT_KIND**40], [MPI_INTEGER, MPI_REAL], record)
    call MPI_Type_size(record, found)
    call check(found == 12, 45)
    call MPI_Type_free(record)
    call MPI_Type_free(big)
  end subroutine large_counts

  ! Buffers of nonblocking calls may be array sections: nothing is copied that the call would outlive. (Of a component of
  ! derived types gfortran makes a copy nevertheless.)
  subroutine sections
    integer, asynchronous :: matrix(6, 5), from(20), reversed(4)
    integer :: i, expected(6, 5)
    type(MPI_Win) :: win
    type(MPI_Datatype) :: spread

    matrix = -1
    from = [(rank * 100 + i, i = 1, 20)]
    call MPI_Irecv(matrix(2:6:2, 2:4), 9, MPI_INTEGER, left, 9, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(from(1:18:2), 9, MPI_INTEGER, right, 9, MPI_COMM_WORLD, requests(2))
    call MPI_Waitall(2, requests, list)
    expected = -1
    expected(2:6:2, 2:4) = reshape([(left * 100 + i, i = 1, 17, 2)], [3, 3])
    call check(all(matrix == expected), 50)

    ! Fewer elements than the section has; its steps are negative.
    reversed = 0
    call MPI_Irecv(reversed(4:1:-1), 2_MPI_COUNT_KIND, MPI_INTEGER, rank, 10, MPI_COMM_WORLD, requests(1))
    call MPI_Ssend(from(20:1:-10), 2, MPI_INTEGER, rank, 10, MPI_COMM_WORLD)
    call MPI_Wait(requests(1), status)
    call check(all(reversed == [0, 0, rank * 100 + 10, rank * 100 + 20]), 51)
    call MPI_Get_elements(status, MPI_INTEGER, i)
    call check(i == 2, 52)

    ! A row, and a type of two numbers.
    matrix = rank
    call MPI_Ibcast(matrix(3, :), 5_MPI_COUNT_KIND, MPI_INTEGER, 1, MPI_COMM_WORLD, requests(1))
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    call check(all(matrix(3, :) == 1) .and. all(matrix(2:4:2, :) == rank), 53)
    matrix = 0
    call MPI_Sendrecv(from(1:16:4), 2, MPI_2INTEGER, rank, 11, matrix(1, 1:4), 4, MPI_INTEGER, rank, 11, MPI_COMM_WORLD, status)
    call check(all(matrix(1, :) == [rank * 100 + 1, rank * 100 + 5, rank * 100 + 9, rank * 100 + 13, 0]), 54)

    ! One-sided, and whole arrays of each shape.
    from = 0
    call MPI_Win_create(from, 80_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_SELF, win)
    call MPI_Win_fence(0, win)
    call MPI_Put(matrix(1, 1:5:2), 3, MPI_INTEGER, 0, 2_MPI_ADDRESS_KIND, 3, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND)
    call MPI_Win_set_attr(win, keyval, -66_MPI_ADDRESS_KIND)
    call MPI_Win_get_attr(win, keyval, found, flag)
    call check(flag .and. found == -66, 99)
    call MPI_Win_free(win)
    call check(all(from(1:6) == [0, 0, matrix(1, 1), matrix(1, 3), matrix(1, 5), 0]), 55)
    call whole(matrix, 6)

    ! What does not fit is an error, and nothing is sent.
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    call MPI_Send(from(1:20:2), 11, MPI_INTEGER, 0, 0, MPI_COMM_SELF, error)
    call check(error == MPI_ERR_TYPE, 56)
    call MPI_Type_vector(2, 1, 2, MPI_INTEGER, spread)
    call MPI_Type_commit(spread)
    call MPI_Send(from(1:20:2), 2, spread, 0, 0, MPI_COMM_SELF, error)
    call check(error == MPI_ERR_TYPE, 57)
    call MPI_Type_free(spread)
  end subroutine sections

  ! A copy that gfortran made and freed would be used: the call fails. Contiguous sections are right.
  subroutine sections_refused
    integer, asynchronous :: from(8), sums(8), one(1)
    type(MPI_Request) :: request
    type(MPI_Comm) :: comm
    type(MPI_Win) :: win

    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN)
    from = rank
    sums = -1
    call MPI_Iallreduce(from(1:8:2), sums, 4, MPI_INTEGER, MPI_SUM, comm, request, error)
    call check(error == MPI_ERR_BUFFER, 70)
    call MPI_Iallreduce(from, sums(8:5:-1), 4_MPI_COUNT_KIND, MPI_INTEGER, MPI_SUM, comm, request, error)
    call check(error == MPI_ERR_BUFFER, 71)
    call MPI_Alltoall_init(from(1:8:2), 1, MPI_INTEGER, sums, 1, MPI_INTEGER, comm, MPI_INFO_NULL, request, error)
    call check(error == MPI_ERR_BUFFER, 72)
    call MPI_Win_create(from(1:8:2), 16_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, comm, win, error)
    call check(error == MPI_ERR_BUFFER .and. all_are(sums, [-1, -1, -1, -1, -1, -1, -1, -1]), 73)

    call MPI_Iallreduce(from(3:4), sums(5:6), 2, MPI_INTEGER, MPI_SUM, comm, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(sums(4) == -1 .and. sums(7) == -1 .and. all(sums(5:6) == size * (size - 1) / 2), 74)
    one = rank
    call MPI_Iallreduce(MPI_IN_PLACE, one(1), 1, MPI_INTEGER, MPI_MAX, comm, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(one(1) == size - 1, 75)
    call MPI_Comm_free(comm)
  end subroutine sections_refused

  ! Dummies of assumed size have no last bound.
  subroutine whole(matrix, rows)
    integer :: rows, matrix(rows, *), copy(4)
    matrix(1:4, 1) = [1, 2, 3, 4]
    call MPI_Sendrecv(matrix, 4, MPI_INTEGER, rank, 12, copy, 4, MPI_INTEGER, rank, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(copy == [1, 2, 3, 4]), 57)
  end subroutine whole

  logical function all_are(found, expected)
    integer :: found(:), expected(:)
    all_are = all(found == expected)
  end function all_are

  subroutine representations
    integer(kind=MPI_ADDRESS_KIND), volatile :: extra ! the library keeps its address
    procedure(MPI_Datarep_conversion_function), pointer :: writes
    type(MPI_File) :: file
    integer :: code, error_class, numbers(3)
    character(len=30) :: name
    extra = 2
    writes => to_file
    call MPI_Register_datarep("twice", MPI_CONVERSION_FN_NULL, writes, integers_only, extra)
    call MPI_Register_datarep("twice", MPI_CONVERSION_FN_NULL, writes, integers_only, extra, code)
    call MPI_Error_class(code, error_class)
    call check(error_class == MPI_ERR_DUP_DATAREP, 80)
    write (name, "(a,i0)") "modern-representation-", rank
    call MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, file)
    call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, "twice", MPI_INFO_NULL)
    call MPI_File_write(file, [1, 2, rank], 3, MPI_INTEGER, MPI_STATUS_IGNORE)
    call MPI_File_read_at(file, 0_MPI_OFFSET_KIND, numbers, 3, MPI_INTEGER, MPI_STATUS_IGNORE)
    call check(all(numbers == [2, 4, 2 * rank]), 81)
    call MPI_File_close(file)
  end subroutine representations

  subroutine requests_and_files
    type(MPI_Request) :: request
    type(MPI_Status) :: state
    type(MPI_Errhandler) :: handler
    type(MPI_File) :: file
    type(MPI_Info) :: info
    procedure(MPI_File_errhandler_function), pointer :: handle
    integer(kind=MPI_ADDRESS_KIND), volatile :: extra ! the library keeps its address
    integer :: code, count

    extra = 3
    call MPI_Grequest_start(query, release, cancel, extra, request)
    call MPI_Cancel(request)
    call check(cancelled == 3, 26)
    call MPI_Grequest_complete(request)
    call MPI_Wait(request, state)
    call MPI_Get_count(state, MPI_INTEGER, count)
    call check(request == MPI_REQUEST_NULL .and. released == 3 .and. count == 3, 27)
    call check(extra == 4, 30)

    handle => on_file
    call MPI_File_create_errhandler(handle, handler)
    call MPI_File_set_errhandler(MPI_FILE_NULL, handler)
    call MPI_File_open(MPI_COMM_SELF, "/no such folder/file", MPI_MODE_RDONLY, MPI_INFO_NULL, file, code)
    call check(code /= MPI_SUCCESS .and. file_errors == 1, 28)
    call MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN)
    call MPI_Errhandler_free(handler)

    call MPI_Info_create_env(info)
    call check(info /= MPI_INFO_NULL, 29)
    call MPI_Info_free(info)
  end subroutine requests_and_files
end program modern
