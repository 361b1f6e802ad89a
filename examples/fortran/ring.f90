! RevGen from Fortran: samples of a trained model, and a generator of a target of one's
! own.
!
!     gfortran revgen.f90 ring.f90 $(pkg-config --libs revgen) -o ring
!     ./ring MODEL SEED N OUT
!
! MODEL is that of a 3x3 lattice, which "revgen train" leaves in runs/ising-quick-seed1.
module targets
  use revgen
  implicit none
contains
  integer(c_int) function ring(context, n, d, x, mode, out) bind(c)
    type(c_ptr), value :: context
    integer(c_size_t), value :: n, d
    real(c_double), intent(in) :: x(d, n)
    type(c_ptr), value :: mode
    real(c_double), intent(out) :: out(n)
    real(c_double), pointer :: radius
    call c_f_pointer(context, radius)
    out = -((norm2(x, 1) - radius) / 0.4d0)**2 / 2
    ring = merge(1, 0, c_associated(mode)) ! there are no modes
  end function
end module

program main
  use targets
  implicit none
  integer(c_int64_t) :: handle, seed, n
  integer(c_int8_t), allocatable, target :: spins(:, :)
  real(c_double), allocatable :: energies(:)
  real(c_float), target :: x(2, 1000)
  real(c_double), target :: radius = 2
  real(c_double) :: beta, distance
  type(revgen_target), target :: of
  type(revgen_spins) :: lattice
  integer(c_int64_t) :: words(1024)
  real(c_double) :: walked(1024)
  character(len=65536) :: report
  integer(c_size_t) :: needed
  character(len=1024) :: word
  character(len=*), parameter :: config = '{"system": "callback", "training": {"steps": 50, "batch": 256}, ' // &
    '"evaluation": {"samples": 2000}}'
  integer :: unit, at

  if (command_argument_count() /= 4) error stop 'usage: ring MODEL SEED N OUT'
  call get_command_argument(2, word)
  read (word, *) seed
  call get_command_argument(3, word)
  read (word, *) n
  call check(revgen_open(REVGEN_ABI, handle))
  call check(revgen_threads(handle, 2_c_int))
  call get_command_argument(1, word)
  call check(revgen_load(handle, trim(word) // c_null_char, c_null_ptr))
  allocate (spins(9, n), energies(n))
  call check(revgen_sample(handle, seed, 0_c_int64_t, n, 'spins' // c_null_char, 2_c_int, c_loc(spins), size(spins, kind=c_size_t)))
  call check(revgen_energies(handle, n, 'spins' // c_null_char, c_loc(spins), size(spins, kind=c_size_t), energies, beta))
  call get_command_argument(4, word)
  open (newunit=unit, file=trim(word), access='stream', form='unformatted', status='replace')
  write (unit) spins
  close (unit)
  print '(a, f0.3, a, f0.3)', '<E> = ', sum(energies) / n, ' at beta = ', beta

  ! Chains of the same target, all up at first, after 20 sweeps.
  lattice = revgen_spins(c_sizeof(lattice), beta, side=3)
  words = 511
  call check(revgen_metropolis(handle, lattice, REVGEN_SWEEPS, 20_c_int64_t, seed, 0_c_int32_t, 0_c_int64_t, &
    size(words, kind=c_int64_t), words, c_sizeof(words)))
  call check(revgen_spin_energies(handle, lattice, size(words, kind=c_int64_t), words, c_sizeof(words), walked))
  print '(a, f0.3, a)', '<E> = ', sum(walked) / size(walked), ' of chains'
  if (abs(sum(walked) / size(walked) + 4.843_c_double) > 0.7) stop 1
  call check(revgen_diagnose(handle, 0.5_c_double, report, len(report, kind=c_size_t), needed))
  at = index(report, '"sentence":"') + len('"sentence":"') ! of JSON, which has much more
  print '(2a)', 'diagnosis: ', report(at:at + index(report(at:), '"') - 2)

  of = revgen_target(c_sizeof(of), 2, 0, c_funloc(ring), c_loc(radius))
  call check(revgen_train(handle, config // c_null_char, c_loc(of), c_null_ptr))
  call check(revgen_sample(handle, seed, 0_c_int64_t, 1000_c_int64_t, 'states' // c_null_char, 64_c_int, c_loc(x), c_sizeof(x)))
  distance = sum(norm2(x, 1)) / 1000
  print '(a, f0.2, a)', '<|x|> = ', distance, ' on a ring of radius 2'
  call check(revgen_close(handle))
  if (abs(distance - 2) > 0.3) stop 1
contains
  subroutine check(status)
    integer(c_int), intent(in) :: status
    character(kind=c_char, len=1) :: why(1024)
    integer(c_size_t) :: length
    if (status == REVGEN_OK) return
    length = min(revgen_error(handle, why, 1024_c_size_t), 1024_c_size_t)
    print *, 'status', status, ': ', why(1:length - 1)
    stop 1
  end subroutine
end program
