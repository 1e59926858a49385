/// \file
/// any_length with the extents in the Views' types: as in the book's kernels, the compiler knows that there are 16, 32
/// or 64 keys of 16 elements, and can unroll all loops. Other shapes are skipped. The kernel is query_team.hpp.

#include <string>

#include "../query_team.hpp"

namespace tessera::attention {

struct FixedLength {
  static constexpr VariantInfo info{
      .name = "fixed_length",
      .level = Level::team,
      .summary = "any_length with 16, 32 or 64 keys of 16 elements as compile-time extents"};

  template <ExecutionSpace Exec, std::floating_point T>
  class Plan : public QueryTeamPlan<Exec, T> {
   public:
    Plan(Exec const& exec, InputOn<Attention, Exec, T> const& in) : Plan::QueryTeamPlan(exec, in) {
      std::size_t const keys = in.k.extent(0);
      if (in.k.extent(1) != dim || (keys != 16 && keys != 32 && keys != 64)) {
        throw Skip(std::to_string(keys) + " keys of " + std::to_string(in.k.extent(1)) +
                   " elements (compiled for 16, 32 and 64 keys of 16); use --variant any_length");
      }
    }

    void operator()(Exec const& exec, InputOn<Attention, Exec, T> const& in,
                    OutputOn<Attention, Exec, T> const& to) const {
      switch (in.k.extent(0)) {
        case 16: return attend_to<16>(exec, in, to);
        case 32: return attend_to<32>(exec, in, to);
        default: return attend_to<64>(exec, in, to);
      }
    }

   private:
    static constexpr std::size_t dim = 16;

    template <std::size_t keys>
    void attend_to(Exec const& exec, InputOn<Attention, Exec, T> const& in,
                   OutputOn<Attention, Exec, T> const& to) const {
      using Keys = MatrixOf<T const[keys][dim], Exec>;
      std::size_t const queries = in.q.extent(0);
      this->attend("tessera::attention::fixed_length::mean", exec, MatrixOf<T const* [dim], Exec>(in.q.data(), queries),
                   Keys(in.k.data()), Keys(in.v.data()), MatrixOf<T* [dim], Exec>(to.out.data(), queries),
                   in.parameters.scale);
    }
  };
};

VariantRows fixed_length() { return rows<Attention, FixedLength>(); }

}  // namespace tessera::attention
