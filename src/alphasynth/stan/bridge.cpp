// What CmdStan's own commands do not do: a program's target and entries at coordinates without limits. Takes the place of
// CmdStan's main file: called with `alphasynth` first it answers here, else as CmdStan does. Coordinates come in by the
// standard input and answers go out by the standard output, as doubles, so that none is rounded and none is in a file.
#include <cmdstan/command.hpp>
#include <stan/services/error_codes.hpp>
#include <stan/services/util/create_rng.hpp>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>
#if __has_include(<stan/io/json/json_data.hpp>) // where it is since CmdStan 2.28
#include <stan/io/json/json_data.hpp>
using stan::json::json_data;
#else
#include <cmdstan/io/json/json_data.hpp>
using cmdstan::json::json_data;
#endif

namespace {

// A point at which the program cannot be computed: told apart from all else that goes wrong by what `main` returns.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Model = stan::model::model_base;
using Vector = Eigen::VectorXd;

void write(const double *values, std::size_t number) {
  std::cout.write(reinterpret_cast<const char *>(values), number * sizeof(double));
}

// Names and shapes of all that the program has, and names of all entries.
void names(const Model &model) {
  std::vector<std::string> of, entries;
  std::vector<std::vector<std::size_t>> dims;
  model.get_param_names(of);
  model.get_dims(dims);
  model.constrained_param_names(entries, true, true);
  for (std::size_t i = 0; i < of.size(); ++i) {
    std::cout << of[i];
    for (std::size_t size : dims[i]) std::cout << ' ' << size;
    std::cout << '\n';
  }
  std::cout << '\n';
  for (const std::string &entry : entries) std::cout << entry << '\n';
}

// Rows of coordinates, each to its target, or to `number` of its entries from `first` on.
template <typename F>
void each_row(const Model &model, std::size_t columns, F of) {
  if (columns != model.num_params_r()) throw std::invalid_argument("number of parameters does not match");
  Vector u(columns);
  while (std::cin.read(reinterpret_cast<char *>(u.data()), columns * sizeof(double))) {
    try {
      of(u);
    } catch (const std::exception &error) {
      throw Refused(error.what());
    }
  }
}

int answer(int argc, const char *argv[]) {
  std::vector<std::string> words(argv + 2, argv + argc);
  const std::string what = words.at(0);
  std::ifstream file(words.at(1));
  json_data data(file);
  const unsigned int seed = std::stoul(words.at(2));
  Model &model = new_model(data, seed, nullptr); // nullptr: what a program prints goes nowhere
  auto rng = stan::services::util::create_rng(seed, 1);
  Vector entries;
  if (what == "names") {
    names(model);
  } else if (what == "coordinates") {
    std::cout << model.num_params_r();
  } else if (what == "simulate") {
    json_data theta(std::cin);
    Vector u;
    model.transform_inits(theta, u, nullptr);
    model.write_array(rng, u, entries, true, true, nullptr);
    write(entries.data(), entries.size());
  } else if (what == "log_prob") {
    each_row(model, std::stoul(words.at(3)), [&](Vector &u) {
      double target = model.log_prob_jacobian(u, nullptr);
      write(&target, 1);
    });
  } else if (what == "entries") {
    const std::size_t first = std::stoul(words.at(4)), number = std::stoul(words.at(5));
    each_row(model, std::stoul(words.at(3)), [&](Vector &u) {
      model.write_array(rng, u, entries, true, true, nullptr);
      if (first + number > std::size_t(entries.size())) throw std::out_of_range("no such entries");
      write(entries.data() + first, number);
    });
  } else if (what == "unconstrain") { // a line per draw
    for (std::string line; std::getline(std::cin, line);) {
      std::istringstream one(line);
      json_data theta(one);
      Vector u;
      model.transform_inits(theta, u, nullptr);
      write(u.data(), u.size());
    }
  } else {
    throw std::invalid_argument("no such request: " + what);
  }
  std::cout.flush();
  if (!std::cout) throw std::runtime_error("could not write the answer");
  return 0;
}

} // namespace

int main(int argc, const char *argv[]) {
  try {
    if (argc > 1 && std::string(argv[1]) == "alphasynth") return answer(argc, argv);
    return cmdstan::command(argc, argv) == 0 ? 0 : 1;
  } catch (const Refused &error) {
    std::cerr << error.what() << std::endl;
    return 3;
  } catch (const std::exception &error) {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
