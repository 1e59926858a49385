/// \file
/// The table of butterfly's variants, in the order that --list shows, and its parameters.

#include <string>
#include <variant>
#include <vector>

#include "problem.hpp"

#include <tessera/app/make_app.hpp>

namespace tessera::butterfly {

VariantRows direct();
VariantRows scratch();
VariantRows lanes();
VariantRows reduce_broadcast();

App app() { return make_app<Butterfly>({direct(), scratch(), lanes(), reduce_broadcast()}); }

std::vector<ParameterSpec> Butterfly::parameters() {
  return {
      {.name = "op",
       .help = "pair_swap: in[i xor 1]; max: the segment's maximum; minmax_parity: its maximum at even positions, its "
               "minimum at odd ones",
       .default_value = std::string("max"),
       .choices = {"pair_swap", "max", "minmax_parity"}},
      {.name = "segment",
       .help = "elements of a segment, 1 to 1024; 0: the whole array is one",
       .default_value = std::int64_t{32},
       .choices = {},
       .minimum = 0,
       .maximum = 1024},
      {.name = "team",
       .help = "threads of a team; 0: the variant's choice",
       .default_value = std::int64_t{0},
       .choices = {},
       .minimum = 0,
       .maximum = 1 << 20},
  };
}

Butterfly::Parameters Butterfly::Parameters::from(ParameterMap const& map) {
  std::string const& op = std::get<std::string>(map.at("op"));
  return {
      .op = op == "pair_swap" ? ButterflyOp::pair_swap
            : op == "max"     ? ButterflyOp::max
                              : ButterflyOp::minmax_parity,
      .segment = std::get<std::int64_t>(map.at("segment")),
      .team = std::get<std::int64_t>(map.at("team")),
  };
}

}  // namespace tessera::butterfly
