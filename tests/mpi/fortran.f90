! SPDX-License-Identifier: Apache-2.0
! Each rank has its own module variables, saved variables, COMMON blocks, and units. MPI is called
! through C (fortran_mpi.c): its interfaces bind to the standard's C functions.
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
  call finish()
  if (how == 'stop' .and. rank == 1) stop 9
  if (how == 'error' .and. rank == 1) error stop 10
  if (rank == 0) print '(a,i0,a)', 'fortran: ', ranks, ' ranks'
end program fortran
