/// \file
/// cuRAND's generator of Philox4x32-10: curandGenerate, curandGenerateUniform and curandGenerateNormal. Its numbers are
/// of the same generator in another order, so statistics judge them. Its uniform numbers lie in (0, 1].

#include <curand.h>

#include <concepts>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "../../../apps/random/problem.hpp"
#include "../peers.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::compare {
namespace {

using random::Distribution;
using random::Random;

void check(curandStatus_t status) {
  if (status != CURAND_STATUS_SUCCESS) throw std::runtime_error("cuRAND: error " + std::to_string(status));
}

struct Curand {
  static constexpr VariantInfo info{.name = "curand",
                                    .level = Level::library,
                                    .summary = "cuRAND's Philox: numbers of its own, judged by statistics",
                                    .deterministic = false,
                                    .ordered_by = "cuRAND's offset"};

  template <ExecutionSpace Exec, class T>
    requires std::same_as<Exec, Kokkos::Cuda>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Random, Exec, T> const& input) : distribution_(input.parameters.distribution) {
      auto const& parameters = input.parameters;
      if (parameters.generator != random::Generator::philox) throw Skip("compared is Philox");
      if (distribution_ == Distribution::integers) throw Skip("cuRAND's host interface has no bounded integers");
      if (parameters.stream != 0 || parameters.offset != 0) throw Skip("compared are stream 0 and offset 0");
      if (parameters.count < random::fewest_drawn) {
        throw Skip("its numbers have no reference, and " + std::to_string(random::fewest_drawn) +
                   " or more are needed for statistics");
      }
      if (parameters.count % 2 != 0 && distribution_ == Distribution::normal) throw Skip("it makes pairs of normals");
      curandGenerator_t generator = nullptr;
      check(curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_PHILOX4_32_10));
      generator_.reset(generator);
      check(curandSetPseudoRandomGeneratorSeed(generator, parameters.seed));
      check(curandSetStream(generator, exec.cuda_stream()));
    }

    void operator()(Exec const&, ArrayOn<T*, Exec> const& out) const {
      curandGenerator_t const generator = generator_.get();
      std::size_t const n = out.extent(0);
      bool const normal = distribution_ == Distribution::normal;
      if constexpr (std::same_as<T, float>) {
        check(normal ? curandGenerateNormal(generator, out.data(), n, 0, 1)
                     : curandGenerateUniform(generator, out.data(), n));
      } else if constexpr (std::same_as<T, double>) {
        check(normal ? curandGenerateNormalDouble(generator, out.data(), n, 0, 1)
                     : curandGenerateUniformDouble(generator, out.data(), n));
      } else {
        check(curandGenerate(generator, reinterpret_cast<unsigned*>(out.data()), n));
      }
    }

    [[nodiscard]] static std::vector<WrittenField> outputs() { return {{.field = "out", .own_values = true}}; }

   private:
    struct Destroy {
      void operator()(curandGenerator_t generator) const { (void)curandDestroyGenerator(generator); }
    };
    Distribution distribution_;
    std::unique_ptr<std::remove_pointer_t<curandGenerator_t>, Destroy> generator_;
  };
};

}  // namespace

Peer curand_random() { return {"random", {rows<Random, Curand>()}}; }

}  // namespace tessera::compare
