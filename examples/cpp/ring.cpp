// RevGen from C++: samples of a trained model, and a generator of a target of one's own.
//
//	c++ -std=c++17 ring.cpp $(pkg-config --cflags --libs revgen) -o ring
//	./ring MODEL SEED N OUT
//
// MODEL is that of a 3x3 lattice, which "revgen train" leaves in runs/ising-quick-seed1.
#include "revgen.hpp"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <numeric>
#include <vector>

int main(int argc, char **argv) try {
  if (argc != 5) {
    std::cerr << "usage: ring MODEL SEED N OUT\n";
    return 2;
  }
  const auto seed = std::stoull(argv[2]), n = std::stoull(argv[3]);
  rg::model m;
  m.threads(2);
  m.load(argv[1]);
  std::vector<std::int8_t> spins(n * 9);
  m.sample(seed, 0, n, "spins", 2, spins.data(), spins.size());
  std::ofstream(argv[4], std::ios::binary).write(reinterpret_cast<const char *>(spins.data()), spins.size());
  std::vector<double> energies(n);
  m.energies(n, "spins", spins.data(), spins.size(), energies.data());
  std::cout << "<E> = " << std::accumulate(energies.begin(), energies.end(), 0.0) / n << "\n";

  // Chains of the same target, all up at first, after 20 sweeps.
  const revgen_spins lattice = {sizeof lattice, 0.2, 3, 1, 0, 0, 0, nullptr, nullptr, nullptr};
  std::vector<std::uint64_t> words(1024, 0777);
  std::vector<double> chain(1024);
  m.metropolis(lattice, REVGEN_SWEEPS, 20, seed, 0, 0, words.size(), words.data(), 8 * words.size());
  m.spin_energies(lattice, words.size(), words.data(), 8 * words.size(), chain.data());
  const double walked = std::accumulate(chain.begin(), chain.end(), 0.0) / 1024;
  std::cout << "<E> = " << walked << " of chains\n";
  const std::string report = m.diagnose(0.5), key = "\"sentence\":\""; // of JSON, which has much more
  const auto at = report.find(key) + key.size();
  std::cout << "diagnosis: " << report.substr(at, report.find('"', at) - at) << "\n";
  if (std::abs(walked + 4.843) > 0.7) return 1;

  const std::string config =
      R"({"system": "callback", "training": {"steps": 50, "batch": 256}, "evaluation": {"samples": 2000}})";
  try { // an exception of the target comes back, and never passes through the library
    m.train(config, 2, 0, [](auto...) { throw std::domain_error("no density here"); });
    return 1;
  } catch (const std::domain_error &e) {
    std::cout << "the target said: " << e.what() << "\n";
  }

  const double radius = 2;
  m.train(config, 2, 0, [radius](std::size_t rows, std::size_t d, const double *x, const std::int32_t *, double *out) {
    for (std::size_t i = 0; i < rows; i++) {
      double squares = 0;
      for (std::size_t j = 0; j < d; j++) squares += x[i * d + j] * x[i * d + j];
      const double away = (std::sqrt(squares) - radius) / 0.4;
      out[i] = -away * away / 2;
    }
  });
  std::vector<float> x(2000);
  m.sample(seed, 0, 1000, "states", 64, x.data(), x.size() * sizeof(float));
  double distance = 0;
  for (int i = 0; i < 1000; i++) distance += std::hypot(x[2 * i], x[2 * i + 1]) / 1000;
  std::cout << "<|x|> = " << distance << " on a ring of radius 2\n";
  return std::abs(distance - 2) > 0.3;
} catch (const std::exception &e) {
  std::cerr << e.what() << "\n";
  return 1;
}
