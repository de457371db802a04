! SPDX-License-Identifier: Apache-2.0
! The Fortran bindings through the module mpi: each rule by which tools/mpi/fortran.py converts an
! argument, and the subroutines written by hand. Four ranks.
module checks
  use mpi
  implicit none
  integer :: rank, ranks, error, copies = 0, deletions = 0, handled = 0, type_seen = 0, barriers = 0
contains
  subroutine check(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    print *, 'bindings.f90: failed: ', what
    call MPI_Abort(MPI_COMM_WORLD, 1, error)
  end subroutine check
end module checks

! User functions are external, as old programs have them.
subroutine add_pairs(in, inout, count, type)
  use checks
  integer :: count, type, in(2, count), inout(2, count)
  type_seen = type
  inout = in + inout
end subroutine add_pairs

subroutine copy_twice(comm, keyval, extra, value, copy, flag, failed)
  use checks
  integer :: comm, keyval, failed
  integer(kind=MPI_ADDRESS_KIND) :: extra, value, copy
  logical :: flag
  copies = copies + 1
  copy = 2 * value + extra
  flag = .true.
  failed = MPI_SUCCESS
end subroutine copy_twice

subroutine count_deletion(comm, keyval, value, extra, failed)
  use checks
  integer :: comm, keyval, failed
  integer(kind=MPI_ADDRESS_KIND) :: extra, value
  deletions = deletions + 1
  failed = MPI_SUCCESS
end subroutine count_deletion

subroutine handle_error(comm, code)
  use checks
  integer :: comm, code, class
  call MPI_Error_class(code, class, error)
  call check(class == MPI_ERR_RANK, 'class in a handler')
  call check(comm == MPI_COMM_WORLD, 'communicator in a handler')
  handled = handled + 1
end subroutine handle_error

! Profiling: this stands before the library's.
subroutine MPI_Barrier(comm, ierror)
  use checks, only: barriers
  integer :: comm, ierror
  barriers = barriers + 1
  call PMPI_Barrier(comm, ierror)
end subroutine MPI_Barrier

program bindings
  use checks
  implicit none
  call MPI_Init(error)
  call be_spawned()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call check(ranks == 4, 'four ranks')
  call test_buffers()
  call test_requests()
  call test_operations()
  call test_attributes()
  call test_attributes_in_c()
  call test_types_that_stay()
  call test_old_types()
  call test_sizes()
  call test_spawning()
  call test_strings()
  call test_topology()
  call test_errors()
  call test_types_in_arrays()
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call check(barriers == 1, 'profiling')
  call MPI_Finalize(error)
contains
  subroutine test_buffers()
    integer :: sum, type, status(MPI_STATUS_SIZE)
    integer(kind=MPI_ADDRESS_KIND) :: address(1)
    real(8) :: grid(3, 2), there(3, 2)
    sum = rank
    call MPI_Allreduce(MPI_IN_PLACE, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call check(sum == 6, 'MPI_IN_PLACE')
    grid = rank
    call MPI_Get_address(grid, address(1), error)
    call MPI_Type_create_hindexed(1, [6], address, MPI_DOUBLE_PRECISION, type, error)
    call MPI_Type_commit(type, error)
    call MPI_Sendrecv(MPI_BOTTOM, 1, type, ieor(rank, 1), 3, there, 6, MPI_REAL8, ieor(rank, 1), 3, &
                      MPI_COMM_WORLD, status, error)
    call check(all(there == ieor(rank, 1)), 'MPI_BOTTOM')
    call check(status(MPI_SOURCE) == ieor(rank, 1), 'status')
    call convert(status)
    call MPI_Type_free(type, error)
    call check(type == MPI_DATATYPE_NULL, 'a freed handle')
  end subroutine test_buffers

  ! The module has mpi_f08's types, too.
  subroutine convert(status)
    integer :: status(MPI_STATUS_SIZE), again(MPI_STATUS_SIZE)
    type(MPI_Status) :: modern
    type(MPI_Comm) :: world = MPI_Comm(MPI_COMM_WORLD), none
    call MPI_Status_f2f08(status, modern, error)
    call check(modern%MPI_SOURCE == ieor(rank, 1) .and. modern%MPI_TAG == 3 .and. error == MPI_SUCCESS, 'a modern status')
    call MPI_Status_f082f(modern, again, error)
    call check(all(again == status) .and. error == MPI_SUCCESS, 'a status converted back')
    none%MPI_VAL = MPI_COMM_NULL
    call check(world%MPI_VAL == MPI_COMM_WORLD .and. world /= none .and. world == world, 'modern handles')
  end subroutine convert

  subroutine test_requests()
    integer :: requests(4), values(4), statuses(MPI_STATUS_SIZE, 4), i, index, done, indices(4)
    do i = 1, 4
      call MPI_Irecv(values(i), 1, MPI_INTEGER, i - 1, 4, MPI_COMM_WORLD, requests(i), error)
    end do
    do i = 0, 3
      call MPI_Send(10 * rank + i, 1, MPI_INTEGER, i, 4, MPI_COMM_WORLD, error)
    end do
    call MPI_Waitall(4, requests, statuses, error)
    call check(all(requests == MPI_REQUEST_NULL), 'requests after MPI_Waitall')
    call check(all(statuses(MPI_SOURCE, :) == [0, 1, 2, 3]), 'statuses')
    call check(all(values == [(10 * i + rank, i = 0, 3)]), 'values')
    requests(1) = MPI_REQUEST_NULL
    call MPI_Irecv(values(2), 1, MPI_INTEGER, rank, 5, MPI_COMM_WORLD, requests(2), error)
    call MPI_Send(rank, 1, MPI_INTEGER, rank, 5, MPI_COMM_WORLD, error)
    call MPI_Waitany(2, requests, index, MPI_STATUS_IGNORE, error)
    call check(index == 2, 'indices count from 1')
    call check(all(MPI_STATUS_IGNORE == 0), 'MPI_STATUS_IGNORE is not written')
    call MPI_Waitany(2, requests, index, MPI_STATUS_IGNORE, error)
    call check(index == MPI_UNDEFINED, 'no request')
    call MPI_Irecv(values(3), 1, MPI_INTEGER, rank, 6, MPI_COMM_WORLD, requests(3), error)
    call MPI_Send(rank, 1, MPI_INTEGER, rank, 6, MPI_COMM_WORLD, error)
    call MPI_Waitsome(4, requests, done, indices, MPI_STATUSES_IGNORE, error)
    call check(done == 1 .and. indices(1) == 3, 'indices of MPI_Waitsome')
    call check(all(MPI_STATUSES_IGNORE == 0), 'MPI_STATUSES_IGNORE is not written')
  end subroutine test_requests

  subroutine test_operations()
    integer :: op, pair, mine(2), sums(2)
    logical :: commutes
    external :: add_pairs
    call MPI_Type_contiguous(2, MPI_INTEGER, pair, error)
    call MPI_Type_commit(pair, error)
    call MPI_Op_create(add_pairs, .true., op, error)
    call MPI_Op_commutative(op, commutes, error)
    call check(commutes, 'a commutative operation')
    mine = [rank, 1]
    call MPI_Allreduce(mine, sums, 1, pair, op, MPI_COMM_WORLD, error)
    call check(all(sums == [6, 4]), 'an operation of the program')
    call check(type_seen == pair .or. type_seen == 0, 'the type in an operation')
    call MPI_Op_free(op, error)
    call check(op == MPI_OP_NULL, 'a freed operation')
    call MPI_Type_free(pair, error)
  end subroutine test_operations

  subroutine test_attributes()
    integer :: key, comm
    integer(kind=MPI_ADDRESS_KIND) :: extra, value
    logical :: found
    external :: copy_twice, count_deletion
    extra = 7
    call MPI_Comm_create_keyval(copy_twice, count_deletion, key, extra, error)
    value = 2_MPI_ADDRESS_KIND**40
    call MPI_Comm_set_attr(MPI_COMM_SELF, key, value, error)
    call MPI_Comm_dup(MPI_COMM_SELF, comm, error)
    call MPI_Comm_get_attr(comm, key, value, found, error)
    call check(found .and. value == 2_MPI_ADDRESS_KIND**41 + 7, 'a copied attribute')
    call MPI_Comm_free(comm, error)
    call check(copies == 1 .and. deletions == 1, 'callbacks of attributes')
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, found, error)
    call check(found .and. value >= 32767 .and. value <= huge(0), 'MPI_TAG_UB') ! no address
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, extra, error)
    value = 5
    call MPI_Comm_set_attr(MPI_COMM_WORLD, key, value, error)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, error)
    value = 0
    call MPI_Comm_get_attr(comm, key, value, found, error)
    call check(found .and. value == 5, 'MPI_COMM_DUP_FN')
    call MPI_Comm_free(comm, error)
  end subroutine test_attributes

  ! What Fortran sets is the address of an integer in C; what C sets is an address in Fortran.
  subroutine test_attributes_in_c()
    use, intrinsic :: iso_c_binding
    interface
      type(c_ptr) function comm_of(number) bind(c, name='PMPI_Comm_fromint')
        import
        integer(c_int), value :: number
      end function comm_of
      integer(c_int) function set_in_c(comm, keyval, address) bind(c, name='PMPI_Comm_set_attr')
        import
        type(c_ptr), value :: comm, address
        integer(c_int), value :: keyval
      end function set_in_c
      integer(c_int) function get_in_c(comm, keyval, address, flag) bind(c, name='PMPI_Comm_get_attr')
        import
        type(c_ptr), value :: comm
        integer(c_int), value :: keyval
        type(c_ptr) :: address
        integer(c_int) :: flag
      end function get_in_c
    end interface
    integer :: key, twin
    integer(c_int) :: flag
    integer(kind=MPI_ADDRESS_KIND) :: extra, value
    integer(kind=MPI_ADDRESS_KIND), pointer :: in_c
    integer, target :: thing
    type(c_ptr) :: address
    logical :: found
    extra = 0
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, extra, error)
    value = 2_MPI_ADDRESS_KIND**40 + 9
    call MPI_Comm_set_attr(MPI_COMM_WORLD, key, value, error)
    call MPI_Comm_dup(MPI_COMM_WORLD, twin, error)
    error = get_in_c(comm_of(twin), key, address, flag)
    call c_f_pointer(address, in_c)
    call check(flag /= 0 .and. in_c == value, 'an attribute of Fortran in C')
    call MPI_Comm_free(twin, error)
    error = set_in_c(comm_of(MPI_COMM_WORLD), key, c_loc(thing))
    call MPI_Comm_get_attr(MPI_COMM_WORLD, key, value, found, error)
    call check(found .and. value == transfer(c_loc(thing), value), 'an attribute of C in Fortran')
    call MPI_Comm_delete_attr(MPI_COMM_WORLD, key, error)
    call MPI_Comm_free_keyval(key, error)
  end subroutine test_attributes_in_c

  ! The library reads the types after the call: two calls run at once, with types of their own.
  subroutine test_types_that_stay()
    integer :: requests(3), ones(4), fours(4), places(4), types(4), sent(4), got(4, 3), i
    sent = [(10 * rank + i, i = 0, 3)]
    got = -1
    ones = 1
    fours = 4
    places = [0, 4, 8, 12]
    types = MPI_BYTE
    call MPI_Ialltoallw(sent, fours, places, types, got(1, 1), fours, places, types, MPI_COMM_WORLD, requests(1), error)
    types = MPI_INTEGER
    call MPI_Ialltoallw(sent, ones, places, types, got(1, 2), ones, places, types, MPI_COMM_WORLD, requests(2), error)
    call MPI_Alltoallw_init(sent, ones, places, types, got(1, 3), ones, places, types, MPI_COMM_WORLD, &
                            MPI_INFO_NULL, requests(3), error)
    types = MPI_DATATYPE_NULL
    call MPI_Start(requests(3), error)
    call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE, error)
    do i = 1, 3
      call check(all(got(:, i) == [0, 10, 20, 30] + rank), 'types that a later call reads')
    end do
    call MPI_Request_free(requests(3), error)
  end subroutine test_types_that_stay

  ! Names that MPI 3.0 removed: displacements are default integers.
  subroutine test_old_types()
    integer :: indexed, vector, structure, number, handler, place
    call MPI_Type_hindexed(2, [1, 2], [8, 16], MPI_INTEGER, indexed, error)
    call MPI_Type_lb(indexed, number, error)
    call check(number == 8, 'MPI_TYPE_LB')
    call MPI_Type_ub(indexed, number, error)
    call check(number == 24, 'MPI_TYPE_UB')
    call MPI_Type_extent(indexed, number, error)
    call check(number == 16, 'MPI_TYPE_EXTENT')
    call MPI_Type_hvector(3, 1, 20, MPI_INTEGER, vector, error)
    call MPI_Type_extent(vector, number, error)
    call check(number == 44, 'MPI_TYPE_HVECTOR')
    call MPI_Type_struct(2, [1, 1], [0, 40], [MPI_INTEGER, MPI_DOUBLE_PRECISION], structure, error)
    call MPI_Type_extent(structure, number, error)
    call check(number == 48, 'MPI_TYPE_STRUCT')
    call MPI_Type_free(indexed, error)
    call MPI_Type_free(vector, error)
    call MPI_Type_free(structure, error)
    call MPI_Address(MPI_BOTTOM, place, error)
    call check(place == 0, 'MPI_ADDRESS')
    call MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_RETURN, error)
    call MPI_Address(number, place, error)
    call check(error /= MPI_SUCCESS, 'MPI_ADDRESS of 64 bits')
    call MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, error)
    call MPI_Errhandler_get(MPI_COMM_WORLD, handler, error)
    call check(handler == MPI_ERRORS_ARE_FATAL, 'MPI_ERRHANDLER_GET')
    call check(MPI_DISPLACEMENT_CURRENT == -1, 'MPI_DISPLACEMENT_CURRENT')
  end subroutine test_old_types

  subroutine test_sizes()
    integer :: bytes
    integer(2) :: short(3)
    complex(8) :: pair
    call MPI_Sizeof(short, bytes, error)
    call check(bytes == 2, 'MPI_SIZEOF of an array')
    call MPI_Sizeof(pair, bytes, error)
    call check(bytes == 16, 'MPI_SIZEOF')
    call PMPI_Sizeof(bytes, bytes, error)
    call check(bytes == 4, 'PMPI_SIZEOF')
  end subroutine test_sizes

  ! A spawned rank sends its last argument to rank 0 of its parents, and ends.
  subroutine be_spawned()
    integer :: parents
    character(len=8) :: word
    call MPI_Comm_get_parent(parents, error)
    if (parents == MPI_COMM_NULL) return
    call get_command_argument(command_argument_count(), word)
    call MPI_Send(word, len(word), MPI_CHARACTER, 0, 0, parents, error)
    call MPI_Comm_disconnect(parents, error)
    call MPI_Finalize(error)
    stop
  end subroutine be_spawned

  subroutine check_spawned(comm, words)
    integer :: comm, i, count
    character(len=8) :: words(:), word
    call MPI_Comm_remote_size(comm, count, error)
    call check(count == size(words), 'as many as were spawned')
    do i = 1, count
      call MPI_Recv(word, len(word), MPI_CHARACTER, i - 1, 0, comm, MPI_STATUS_IGNORE, error)
      call check(word == words(i), 'its argument')
    end do
    call MPI_Comm_disconnect(comm, error)
  end subroutine check_spawned

  ! One command and two, with an argument each; and one with many.
  subroutine test_spawned()
    integer :: comm, codes(2), i
    character(len=400) :: self(2)
    character(len=8) :: table(2, 2), many(40)
    call get_command_argument(0, self(1))
    self(2) = self(1)
    table = reshape(['first   ', 'second  ', '        ', '        '], [2, 2])
    codes = -1
    call MPI_Comm_spawn(self(1), table(1, :), 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, comm, codes, error)
    call check(error == MPI_SUCCESS .and. all(codes == MPI_SUCCESS), 'a command')
    call check_spawned(comm, [table(1, 1), table(1, 1)])
    call MPI_Comm_spawn_multiple(1, self, table(1:1, :), [1], [MPI_INFO_NULL], 0, MPI_COMM_SELF, comm, codes, error)
    call check(error == MPI_SUCCESS .and. codes(1) == MPI_SUCCESS, 'one of several commands')
    call check_spawned(comm, table(1:1, 1))
    call MPI_Comm_spawn_multiple(2, self, table, [1, 1], [MPI_INFO_NULL, MPI_INFO_NULL], 0, MPI_COMM_SELF, comm, codes, error)
    call check(error == MPI_SUCCESS .and. all(codes == MPI_SUCCESS), 'several commands')
    call check_spawned(comm, table(:, 1))
    do i = 1, size(many) - 1
      write (many(i), '(I0)') i
    end do
    many(size(many)) = ''
    call MPI_Comm_spawn(self(1), many, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, comm, codes, error)
    call check(error == MPI_SUCCESS .and. codes(1) == MPI_SUCCESS, 'many arguments')
    call check_spawned(comm, ['39      '])
  end subroutine test_spawned

  ! No program of that name: both calls return an error, with all kinds of vectors.
  subroutine test_spawning()
    integer :: comm, codes(4), class
    character(len=8) :: words(3), table(2, 2)
    words = ['first   ', 'second  ', '        ']
    table = reshape(['first   ', 'second  ', '        ', '        '], [2, 2])
    call MPI_Errhandler_set(MPI_COMM_SELF, MPI_ERRORS_RETURN, error)
    call MPI_Comm_spawn('a program', words, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, comm, codes, error)
    call MPI_Error_class(error, class, codes(1))
    call check(class == MPI_ERR_SPAWN .and. comm == MPI_COMM_NULL, 'MPI_COMM_SPAWN')
    call MPI_Comm_spawn('a program', MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, comm, MPI_ERRCODES_IGNORE, error)
    call check(error /= MPI_SUCCESS, 'MPI_ARGV_NULL')
    call MPI_Comm_spawn_multiple(2, words, table, [1, 1], [MPI_INFO_NULL, MPI_INFO_NULL], 0, MPI_COMM_SELF, comm, codes, error)
    call check(error /= MPI_SUCCESS .and. comm == MPI_COMM_NULL, 'MPI_COMM_SPAWN_MULTIPLE')
    call MPI_Comm_spawn_multiple(2, words, MPI_ARGVS_NULL, [1, 1], [MPI_INFO_NULL, MPI_INFO_NULL], 0, MPI_COMM_SELF, &
                                 comm, MPI_ERRCODES_IGNORE, error)
    call check(error /= MPI_SUCCESS, 'MPI_ARGVS_NULL')
    call MPI_Errhandler_set(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL, error)
    if (rank == 0) call test_spawned()
  end subroutine test_spawning

  subroutine test_strings()
    character(len=MPI_MAX_OBJECT_NAME) :: name
    character(len=6) :: text
    integer :: length, info, session
    logical :: found
    call MPI_Comm_set_name(MPI_COMM_SELF, 'a name   ', error)
    call MPI_Comm_get_name(MPI_COMM_SELF, name, length, error)
    call check(length == 6 .and. name == 'a name', 'a name')
    call MPI_Info_create(info, error)
    call MPI_Info_set(info, '  key ', 'value', error)
    text = 'xxxxxx'
    call MPI_Info_get(info, 'key', 6, text, found, error)
    call check(found .and. text == 'value ', 'a value')
    length = 3
    call MPI_Info_get_string(info, 'key', length, text, found, error)
    call check(found .and. length == 5 .and. text == 'val', 'a short buffer')
    call MPI_Info_free(info, error)
    call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, session, error)
    text = 'xxxxxx'
    length = 3
    call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, length, text, error)
    call check(length == 11 .and. text == 'mpi', 'a short name') ! of mpi://WORLD
    call MPI_Session_finalize(session, error)
    call MPI_Info_create_env(info, error)
    call check(error == MPI_SUCCESS .and. info /= MPI_INFO_NULL, 'MPI_INFO_CREATE_ENV')
    call MPI_Info_free(info, error)
  end subroutine test_strings

  subroutine test_topology()
    integer :: comm, coords(2), dims(2)
    logical :: periods(2)
    call MPI_Cart_create(MPI_COMM_WORLD, 2, [2, 2], [.true., .false.], .false., comm, error)
    call MPI_Cart_get(comm, 2, dims, periods, coords, error)
    call check(periods(1) .and. .not. periods(2), 'logicals in an array')
    call check(all(coords == [rank / 2, mod(rank, 2)]), 'coordinates')
    call MPI_Comm_free(comm, error)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [mod(rank + 3, 4)], MPI_UNWEIGHTED, 1, &
                                        [mod(rank + 1, 4)], MPI_UNWEIGHTED, MPI_INFO_NULL, .false., comm, error)
    call MPI_Dist_graph_neighbors_count(comm, coords(1), coords(2), periods(1), error)
    call check(.not. periods(1) .and. coords(1) == 1, 'MPI_UNWEIGHTED')
    call MPI_Comm_free(comm, error)
  end subroutine test_topology

  subroutine test_errors()
    integer :: handler, code
    external :: handle_error
    call MPI_Comm_create_errhandler(handle_error, handler, error)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler, error)
    call MPI_Send(rank, 1, MPI_INTEGER, 99, 0, MPI_COMM_WORLD, code)
    call check(handled == 1, 'an error handler')
    call MPI_Error_class(code, code, error)
    call check(code == MPI_ERR_RANK, 'ierror')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, error)
    call MPI_Errhandler_free(handler, error)
  end subroutine test_errors

  subroutine test_types_in_arrays()
    integer :: type, i, ints(2), into(4), integers, addresses, types, combiner
    integer :: got_ints(3), got_types(2)
    integer(kind=MPI_ADDRESS_KIND) :: got_addresses(2)
    ints = [rank, 10 * rank]
    call MPI_Alltoallw([(rank, i = 1, 4)], [1, 1, 1, 1], [0, 4, 8, 12], [(MPI_INTEGER, i = 1, 4)], &
                       into, [1, 1, 1, 1], [0, 4, 8, 12], [(MPI_INTEGER, i = 1, 4)], MPI_COMM_WORLD, error)
    call check(all(into == [0, 1, 2, 3]), 'MPI_Alltoallw')
    call MPI_Type_create_struct(2, [1, 1], [0_MPI_ADDRESS_KIND, 4_MPI_ADDRESS_KIND], [MPI_INTEGER, MPI_REAL], type, error)
    call MPI_Type_get_envelope(type, integers, addresses, types, combiner, error)
    call check(combiner == MPI_COMBINER_STRUCT .and. types == 2, 'an envelope')
    call MPI_Type_get_contents(type, integers, addresses, types, got_ints, got_addresses, got_types, error)
    call check(all(got_types == [MPI_INTEGER, MPI_REAL]), 'types of a type')
    call MPI_Type_free(type, error)
  end subroutine test_types_in_arrays
end program bindings
