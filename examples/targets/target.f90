! ln π of a φ⁴ field on 8 × 8 sites for revgen: change log_density and n_dim.
! gfortran -O2 -ffp-contract=off -o target target.f90 (protocol: docs/targets.md)
program target
  use iso_fortran_env, only: int32, real64
  implicit none
  integer, parameter :: side = 8, n_dim = side*side, n_modes = 0  ! 0: there is no mode k
  real(real64), parameter :: kappa = 0.2_real64, lambda = 0.02_real64
  integer(int32) :: hello(5), n, r, status
  real(real64), allocatable :: x(:, :), y(:)
  integer(int32), allocatable :: k(:)
  open (10, file='/dev/stdin', access='stream', form='unformatted', action='read')
  open (11, file='/dev/stdout', access='stream', form='unformatted', action='write')
  read (10) hello            ! "RVGD", version, coordinates, modes, bits
  write (11) hello(1:2), int([n_dim, n_modes], int32), hello(5)
  flush (11)
  do
    read (10, iostat=status) n
    if (status /= 0) stop    ! revgen has ended
    allocate (x(n_dim, n), y(n), k(merge(n, 0, n_modes > 0)))
    read (10) x, k
    do r = 1, n
      y(r) = log_density(x(:, r))
    end do
    write (11) n, y
    flush (11)
    deallocate (x, y, k)
  end do
contains
  real(real64) function log_density(x) result(value)
    real(real64), intent(in) :: x(0:side - 1, 0:side - 1)  ! the first index is the faster
    real(real64) :: hop, site
    integer :: i, j
    hop = 0; site = 0
    do j = 0, side - 1; do i = 0, side - 1
      hop = hop + x(i, j)*(x(i, modulo(j + 1, side)) + x(modulo(i + 1, side), j))
      site = site + (x(i, j)**2 + lambda*((x(i, j)**2 - 1)*(x(i, j)**2 - 1)))
    end do; end do
    value = 2*kappa*hop - site
  end function
end program
