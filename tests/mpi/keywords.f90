! SPDX-License-Identifier: Apache-2.0
! Arguments by the keywords of the standard, in the module mpi_f08: in any order.
program keywords
  use mpi_f08
  implicit none
  type(MPI_Comm) :: grid, half
  type(MPI_Datatype) :: column, again
  type(MPI_Group) :: everyone, first
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: states(2)
  character(len=MPI_MAX_OBJECT_NAME) :: called
  integer :: me, ranks, code, got, counted, there, position, sums(2), matrix(4, 3), copied(4), room(8)

  call MPI_Init(ierror=code)
  call MPI_Comm_rank(rank=me, comm=MPI_COMM_WORLD)
  call MPI_Comm_size(ierror=code, size=ranks, comm=MPI_COMM_WORLD)
  if (code /= MPI_SUCCESS) error stop 1

  call MPI_Irecv(request=requests(1), buf=got, count=1, datatype=MPI_INTEGER, source=me, tag=4, comm=MPI_COMM_WORLD)
  call MPI_Isend(buf=me, count=1, datatype=MPI_INTEGER, dest=me, tag=4, comm=MPI_COMM_WORLD, request=requests(2))
  call MPI_Waitall(array_of_statuses=states, array_of_requests=requests, count=2)
  call MPI_Get_count(status=states(1), datatype=MPI_INTEGER, count=counted)
  if (got /= me .or. counted /= 1) error stop 2

  call MPI_Allreduce(sendbuf=[me, 1], recvbuf=sums, count=2, datatype=MPI_INTEGER, op=MPI_SUM, comm=MPI_COMM_WORLD)
  if (sums(1) /= ranks * (ranks - 1) / 2 .or. sums(2) /= ranks) error stop 3
  got = merge(17, 0, me == 0)
  call MPI_Bcast(buffer=got, count=1, datatype=MPI_INTEGER, root=0, comm=MPI_COMM_WORLD)
  if (got /= 17) error stop 4

  matrix = reshape([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], [4, 3])
  call MPI_Type_vector(newtype=column, oldtype=MPI_INTEGER, stride=4, blocklength=1, count=3)
  call MPI_Type_commit(datatype=column)
  call MPI_Type_dup(oldtype=column, newtype=again)
  position = 0
  call MPI_Pack(inbuf=matrix, incount=1, datatype=again, outbuf=room, outsize=32, position=position, comm=MPI_COMM_WORLD)
  got = 0
  call MPI_Unpack(inbuf=room, insize=position, position=got, outbuf=copied, outcount=3, datatype=MPI_INTEGER, &
                  comm=MPI_COMM_WORLD)
  if (any(copied(1:3) /= [1, 5, 9])) error stop 5
  call MPI_Type_free(datatype=again)

  call MPI_Cart_create(comm_old=MPI_COMM_WORLD, ndims=1, dims=[ranks], periods=[.true.], reorder=.false., comm_cart=grid)
  call MPI_Cart_shift(comm=grid, direction=0, disp=1, rank_source=got, rank_dest=there)
  if (there /= mod(me + 1, ranks)) error stop 6
  call MPI_Comm_split(comm=grid, color=mod(me, 2), key=0, newcomm=half)
  call MPI_Comm_set_name(comm=half, comm_name="half of them")
  call MPI_Comm_get_name(comm=half, comm_name=called, resultlen=counted)
  if (called(1:counted) /= "half of them") error stop 7

  call MPI_Comm_group(comm=MPI_COMM_WORLD, group=everyone)
  call MPI_Group_incl(group=everyone, n=1, ranks=[ranks - 1], newgroup=first)
  call MPI_Group_translate_ranks(group1=first, n=1, ranks1=[0], group2=everyone, ranks2=room)
  if (room(1) /= ranks - 1) error stop 8
  call MPI_Comm_compare(comm1=grid, comm2=MPI_COMM_WORLD, result=got)
  if (got /= MPI_CONGRUENT) error stop 9
  if (code /= MPI_SUCCESS) call MPI_Abort(comm=MPI_COMM_WORLD, errorcode=1)
  call MPI_Finalize()
end program keywords
