! SPDX-License-Identifier: Apache-2.0
! Each rank has its own module variables, saved variables, COMMON blocks, and units. MPI is called
! through C (fortran_mpi.c), but for attributes, which both languages set.
module counted
  implicit none
  integer :: in_module = 11
  real(8), allocatable :: field(:)
end module counted

module mpi_by_c
  use iso_c_binding
  implicit none
  interface
    subroutine start(rank, size) bind(c)
      import :: c_int
      integer(c_int), intent(out) :: rank, size
    end subroutine start
    subroutine step() bind(c)
    end subroutine step
    subroutine finish() bind(c)
    end subroutine finish
    subroutine failed(line) bind(c)
      import :: c_int
      integer(c_int), value :: line
    end subroutine failed
    function has_in_c(kind, object, keyval, number) bind(c) result(yes)
      import :: c_int, c_intptr_t
      integer(c_int), value :: kind, object, keyval
      integer(c_intptr_t), value :: number
      integer(c_int) :: yes
    end function has_in_c
    function set_in_c(kind, object, keyval, number) bind(c) result(error)
      import :: c_int, c_intptr_t
      integer(c_int), value :: kind, object, keyval
      integer(c_intptr_t), value :: number
      integer(c_int) :: error
    end function set_in_c
  end interface
contains
  subroutine check(condition, line)
    logical, intent(in) :: condition
    integer, intent(in) :: line
    if (.not. condition) call failed(line)
  end subroutine check
end module mpi_by_c

block data
  implicit none
  integer :: in_common, also_in_common(1000)
  common /shared_in_name_only/ in_common, also_in_common
  data in_common /22/
end block data

subroutine touch(rank)
  use counted
  use mpi_by_c
  implicit none
  integer, intent(in) :: rank
  integer :: in_common, also_in_common(1000)
  common /shared_in_name_only/ in_common, also_in_common
  integer, save :: calls = 0
  calls = calls + 1
  if (calls == 1) then
    call check(in_module == 11 .and. in_common == 22, __LINE__)
    call check(all(also_in_common == 0), __LINE__)
    in_module = rank
    in_common = rank
    also_in_common = rank
    allocate(field(10 + rank))
    field = rank
  end if
  call step()
  call check(in_module == rank .and. in_common == rank, __LINE__)
  call check(all(also_in_common == rank) .and. size(field) == 10 + rank, __LINE__)
  call check(all(field == rank), __LINE__)
end subroutine touch

! Two files under the unit numbers every rank uses, read back after the others wrote theirs.
subroutine use_units(rank)
  use mpi_by_c
  implicit none
  integer, intent(in) :: rank
  integer :: i, value
  character(len=16) :: text
  open(unit=10, status='scratch', action='readwrite')
  open(unit=11, status='scratch', form='unformatted', action='readwrite')
  do i = 1, 20
    write(10, '(a,i6)') 'line', 1000 * rank + i
    write(11) 1000 * rank + i
    if (mod(i, 5) == 0) call step()
  end do
  rewind(10)
  rewind(11)
  do i = 1, 20
    read(10, '(a4,i6)') text, value
    call check(text == 'line' .and. value == 1000 * rank + i, __LINE__)
    read(11) value
    call check(value == 1000 * rank + i, __LINE__)
    if (mod(i, 5) == 0) call step()
  end do
  close(10)
  close(11)
end subroutine use_units

subroutine draw(rank)
  use mpi_by_c
  implicit none
  integer, intent(in) :: rank
  integer :: i, n
  integer, allocatable :: seed(:)
  real :: expected(8), drawn
  call random_seed(size=n)
  allocate(seed(n))
  seed = 100 + rank
  call random_seed(put=seed)
  call random_number(expected)
  call random_seed(put=seed)
  do i = 1, 8
    call step()
    call random_number(drawn)
    call check(drawn == expected(i), __LINE__)
  end do
end subroutine draw

! Fortran sets integers and C addresses: each gets what the other has set in its own way, from copies as well.
subroutine exchange_attributes
  use mpi
  use mpi_by_c
  implicit none
  integer, parameter :: of_comm = 0, of_type = 1, of_win = 2
  integer(kind=MPI_ADDRESS_KIND), parameter :: numbers(0:2) = [-21, -22, -23], given = 4096
  integer(kind=MPI_ADDRESS_KIND) :: found
  integer :: keyval, object, twin, space(4), error
  logical :: flag

  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND, error)
  call MPI_Comm_dup(MPI_COMM_SELF, object, error)
  call MPI_Comm_set_attr(object, keyval, numbers(of_comm), error)
  call check(has_in_c(of_comm, object, keyval, numbers(of_comm)) == 1, __LINE__)
  call MPI_Comm_dup(object, twin, error)
  call check(has_in_c(of_comm, twin, keyval, numbers(of_comm)) == 1, __LINE__)
  call check(set_in_c(of_comm, object, keyval, given) == MPI_SUCCESS, __LINE__)
  call MPI_Comm_get_attr(object, keyval, found, flag, error)
  call check(flag .and. found == given, __LINE__)
  call MPI_Comm_free(object, error)
  call MPI_Comm_free(twin, error)
  call MPI_Comm_free_keyval(keyval, error)

  call MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND, error)
  call MPI_Type_contiguous(2, MPI_INTEGER, object, error)
  call MPI_Type_set_attr(object, keyval, numbers(of_type), error)
  call check(has_in_c(of_type, object, keyval, numbers(of_type)) == 1, __LINE__)
  call MPI_Type_dup(object, twin, error)
  call check(has_in_c(of_type, twin, keyval, numbers(of_type)) == 1, __LINE__)
  call check(set_in_c(of_type, object, keyval, given) == MPI_SUCCESS, __LINE__)
  call MPI_Type_get_attr(object, keyval, found, flag, error)
  call check(flag .and. found == given, __LINE__)
  call MPI_Type_free(object, error)
  call MPI_Type_free(twin, error)
  call MPI_Type_free_keyval(keyval, error)

  call MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND, error)
  call MPI_Win_create(space, 16_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_SELF, object, error)
  call MPI_Win_set_attr(object, keyval, numbers(of_win), error)
  call check(has_in_c(of_win, object, keyval, numbers(of_win)) == 1, __LINE__)
  call check(set_in_c(of_win, object, keyval, given) == MPI_SUCCESS, __LINE__)
  call MPI_Win_get_attr(object, keyval, found, flag, error)
  call check(flag .and. found == given, __LINE__)
  call MPI_Win_free(object, error)
  call MPI_Win_free_keyval(keyval, error)
end subroutine exchange_attributes

program fortran
  use mpi_by_c
  implicit none
  integer :: rank, ranks
  character(len=16) :: how
  call start(rank, ranks)
  call get_command_argument(1, how)
  call touch(rank)
  call touch(rank)
  call use_units(rank)
  call draw(rank)
  call exchange_attributes()
  call finish()
  if (how == 'stop' .and. rank == 1) stop 9
  if (how == 'error' .and. rank == 1) error stop 10
  if (rank == 0) print '(a,i0,a)', 'fortran: ', ranks, ' ranks'
end program fortran
