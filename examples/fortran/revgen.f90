! RevGen from Fortran: the functions of revgen.h.
module revgen
  use, intrinsic :: iso_c_binding
  implicit none

  integer(c_int32_t), parameter :: REVGEN_ABI = 1
  integer(c_int), parameter :: REVGEN_OK = 0, REVGEN_STOPPED = 6

  type, bind(c) :: revgen_target
    integer(c_size_t) :: size   ! c_sizeof of this
    integer(c_size_t) :: dim
    integer(c_size_t) :: modes  ! 0 for real vectors alone
    type(c_funptr) :: log_density
    type(c_ptr) :: context
  end type

  type, bind(c) :: revgen_training
    integer(c_size_t) :: size   ! c_sizeof of this
    type(c_ptr) :: directory
    real(c_double) :: max_seconds
    type(c_funptr) :: progress
    type(c_ptr) :: context
  end type

  ! Spins on a periodic lattice of a side, or on a graph; see revgen.h.
  integer(c_int), parameter :: REVGEN_FLIPS = 0, REVGEN_SWEEPS = 1
  type, bind(c) :: revgen_spins
    integer(c_size_t) :: size   ! c_sizeof of this
    real(c_double) :: beta
    integer(c_size_t) :: side = 0
    real(c_double) :: coupling = 1, field = 0
    integer(c_size_t) :: sites = 0, edges = 0
    type(c_ptr) :: edge = c_null_ptr, couplings = c_null_ptr, fields = c_null_ptr
  end type

  abstract interface
    ! x is (d, n) in Fortran's order.
    integer(c_int) function log_density(context, n, d, x, mode, out) bind(c)
      import
      type(c_ptr), value :: context
      integer(c_size_t), value :: n, d
      real(c_double), intent(in) :: x(d, n)
      type(c_ptr), value :: mode
      real(c_double), intent(out) :: out(n)
    end function
  end interface

  interface
    integer(c_int) function revgen_open(abi, handle) bind(c)
      import
      integer(c_int32_t), value :: abi
      integer(c_int64_t), intent(out) :: handle
    end function
    integer(c_int) function revgen_close(handle) bind(c)
      import
      integer(c_int64_t), value :: handle
    end function
    integer(c_int) function revgen_threads(handle, threads) bind(c)
      import
      integer(c_int64_t), value :: handle
      integer(c_int), value :: threads
    end function
    integer(c_int) function revgen_load(handle, path, target) bind(c)
      import
      integer(c_int64_t), value :: handle
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr), value :: target
    end function
    integer(c_int) function revgen_save(handle, path) bind(c)
      import
      integer(c_int64_t), value :: handle
      character(kind=c_char), intent(in) :: path(*)
    end function
    integer(c_int) function revgen_train(handle, configuration, target, training) bind(c)
      import
      integer(c_int64_t), value :: handle
      character(kind=c_char), intent(in) :: configuration(*)
      type(c_ptr), value :: target, training
    end function
    integer(c_int) function revgen_sample(handle, seed, first, count, format, refine, buffer, size) bind(c)
      import
      integer(c_int64_t), value :: handle, seed, first, count
      character(kind=c_char), intent(in) :: format(*)
      integer(c_int), value :: refine
      type(c_ptr), value :: buffer
      integer(c_size_t), value :: size
    end function
    integer(c_int) function revgen_energies(handle, count, format, states, size, energies, beta) bind(c)
      import
      integer(c_int64_t), value :: handle, count
      character(kind=c_char), intent(in) :: format(*)
      type(c_ptr), value :: states
      integer(c_size_t), value :: size
      real(c_double), intent(out) :: energies(*), beta
    end function
    integer(c_int) function revgen_diagnose(handle, max_seconds, buffer, size, needed) bind(c)
      import
      integer(c_int64_t), value :: handle
      real(c_double), value :: max_seconds
      character(kind=c_char), intent(out) :: buffer(*)
      integer(c_size_t), value :: size
      integer(c_size_t), intent(out) :: needed
    end function
    integer(c_int) function revgen_metropolis(handle, target, kind, steps, seed, stream, first, count, states, size) bind(c)
      import
      integer(c_int64_t), value :: handle, steps, seed, first, count
      type(revgen_spins), intent(in) :: target
      integer(c_int), value :: kind
      integer(c_int32_t), value :: stream
      integer(c_int64_t), intent(inout) :: states(*)
      integer(c_size_t), value :: size
    end function
    integer(c_int) function revgen_spin_energies(handle, target, count, states, size, energies) bind(c)
      import
      integer(c_int64_t), value :: handle, count
      type(revgen_spins), intent(in) :: target
      integer(c_int64_t), intent(in) :: states(*)
      integer(c_size_t), value :: size
      real(c_double), intent(out) :: energies(*)
    end function
    ! The communicator is one of mpi, or the MPI_VAL of one of mpi_f08.
    integer(c_int) function revgen_set_communicator(handle, communicator) bind(c)
      import
      integer(c_int64_t), value :: handle
      integer(c_int), value :: communicator
    end function
    integer(c_int) function revgen_cancel(handle) bind(c)
      import
      integer(c_int64_t), value :: handle
    end function
    integer(c_size_t) function revgen_error(handle, buffer, size) bind(c)
      import
      integer(c_int64_t), value :: handle
      character(kind=c_char), intent(out) :: buffer(*)
      integer(c_size_t), value :: size
    end function
  end interface
end module
