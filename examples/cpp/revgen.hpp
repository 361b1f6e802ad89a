// RevGen from C++: a handle that closes itself, errors as exceptions, and targets that
// are any callable. See revgen.h.
#ifndef REVGEN_HPP
#define REVGEN_HPP

#include <revgen.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace rg {

struct error : std::runtime_error {
  int status;
  error(int s, const std::string &what) : std::runtime_error(what), status(s) {}
};

// A target sets out[i] = ln pi(x_i, mode_i) + const for n states x, row-major [n][d].
using log_density =
    std::function<void(std::size_t n, std::size_t d, const double *x, const std::int32_t *mode, double *out)>;

class model {
 public:
  model() { check(revgen_open(REVGEN_ABI, &handle)); }
  ~model() {
    if (handle) revgen_close(handle);
  }
  model(model &&other) noexcept : handle(std::exchange(other.handle, 0)), own(std::move(other.own)) {}
  model &operator=(model &&other) noexcept {
    std::swap(handle, other.handle);
    std::swap(own, other.own);
    return *this;
  }

  void threads(int n) { check(revgen_threads(handle, n)); }
  void load(const std::string &path) { check(revgen_load(handle, path.c_str(), nullptr)); }
  void save(const std::string &path) { check(revgen_save(handle, path.c_str())); }
  void cancel() { check(revgen_cancel(handle)); }

  void train(const std::string &configuration, const std::string &directory = "") {
    run(configuration, nullptr, directory);
  }
  // The system of a target of one's own is "callback".
  void train(const std::string &configuration, std::size_t dim, std::size_t modes, log_density f,
             const std::string &directory = "") {
    auto mine = std::make_unique<target>();
    mine->f = std::move(f);
    mine->c = {sizeof(revgen_target), dim, modes, &target::call, mine.get()};
    run(configuration, mine.get(), directory);
    own = std::move(mine); // it is called again where samples are refined
  }

  // Fills the buffer with size/row_bytes samples from number first on.
  void sample(std::uint64_t seed, std::uint64_t first, std::uint64_t count, const char *format, int refine,
              void *buffer, std::size_t size) {
    check(revgen_sample(handle, seed, first, count, format, refine, buffer, size), own.get());
  }
  // Returns beta of pi ~ exp(-beta E).
  double energies(std::uint64_t count, const char *format, const void *states, std::size_t size, double *out) {
    double beta = 0;
    check(revgen_energies(handle, count, format, states, size, out, &beta), own.get());
    return beta;
  }
  // JSON of the model.
  std::string describe() {
    return text([this](char *to, std::size_t size, std::size_t *needed) { return revgen_describe(handle, to, size, needed); });
  }
  // JSON of how far the samples can be trusted, in about so many seconds, 0 for a minute.
  std::string diagnose(double max_seconds = 0) {
    return text([this, max_seconds](char *to, std::size_t size, std::size_t *needed) {
      return revgen_diagnose(handle, max_seconds, to, size, needed);
    });
  }
  // Packed states along chains of spins, in place.
  void metropolis(const revgen_spins &target, int kind, std::uint64_t steps, std::uint64_t seed, std::uint32_t stream,
                  std::uint64_t first, std::uint64_t count, std::uint64_t *states, std::size_t size) {
    check(revgen_metropolis(handle, &target, kind, steps, seed, stream, first, count, states, size));
  }
  void spin_energies(const revgen_spins &target, std::uint64_t count, const std::uint64_t *states, std::size_t size,
                     double *out) {
    check(revgen_spin_energies(handle, &target, count, states, size, out));
  }
  // Later trainings are shared by the ranks of a communicator, from MPI_Comm_c2f.
  void set_communicator(int communicator) { check(revgen_set_communicator(handle, communicator)); }

 private:
  struct target {
    log_density f;
    revgen_target c;
    std::exception_ptr thrown;
    static int call(void *context, std::size_t n, std::size_t d, const double *x, const std::int32_t *mode,
                    double *out) noexcept {
      auto *t = static_cast<target *>(context);
      try {
        t->f(n, d, x, mode, out);
        return 0;
      } catch (...) { // which must not pass through Go
        t->thrown = std::current_exception();
        return 1;
      }
    }
  };

  template <class F>
  std::string text(F get) {
    std::size_t needed = 0;
    int status = get(nullptr, 0, &needed);
    if (!needed) check(status, own.get());
    std::string out(needed, '\0');
    check(get(&out[0], out.size(), &needed), own.get());
    out.resize(needed - 1);
    return out;
  }
  void run(const std::string &configuration, target *t, const std::string &directory) {
    revgen_training how = {sizeof how, directory.empty() ? nullptr : directory.c_str(), 0, nullptr, nullptr};
    check(revgen_train(handle, configuration.c_str(), t ? &t->c : nullptr, &how), t);
  }
  void check(int status, target *t = nullptr) {
    if (status == REVGEN_OK) return;
    if (t && t->thrown) std::rethrow_exception(std::exchange(t->thrown, nullptr));
    std::string why(revgen_error(handle, nullptr, 0), '\0');
    revgen_error(handle, &why[0], why.size());
    if (!why.empty()) why.pop_back();
    throw error(status, why);
  }

  revgen handle = 0;
  std::unique_ptr<target> own;
};

} // namespace rg
#endif
