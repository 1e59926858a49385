/// \file
/// One launch that reads the matrix once: teams that run at the same time hold a band of columns, in their registers and
/// a part in scratch, and wait for each other's sums before they write. For GPUs, which hold tens of thousands of rows so;
/// on hosts few rows fit, and more are skipped.

#include <optional>

#include "../column_holders.hpp"
#include "../problem.hpp"

#include <tessera/kernels/for_each_pack.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::softmax {

struct RegisterColumns {
  static constexpr VariantInfo info{.name = "register_columns",
                                    .level = Level::device,
                                    .summary = "columns held in the registers of several teams: 1 launch, read once"};

  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  class Plan {
    static constexpr int pack = kernels::natural_pack<Exec, T>;

   public:
    Plan(Exec const& exec, InputOn<Softmax, Exec, T> const& input) {
      if (input.parameters.axis != Axis::cols) throw Skip("register_columns is for --axis cols");
      std::size_t const cols = input.x.extent(1);
      if (cols % pack == 0 && collective::is_aligned_for_packs<pack>(input.x.data())) {
        packs_.emplace(exec, input.x.extent(0), cols, input.parameters.team);
      } else {
        singles_.emplace(exec, input.x.extent(0), cols, input.parameters.team);
      }
    }

    void operator()(Exec const& exec, InputOn<Softmax, Exec, T> const& input,
                    OutputOn<Softmax, Exec, T> const& output) {
      packs_ ? (*packs_)(exec, input.x.data(), output.y.data()) : (*singles_)(exec, input.x.data(), output.y.data());
    }

    [[nodiscard]] double rounding_steps() const {
      return packs_ ? packs_->rounding_steps() : singles_->rounding_steps();
    }
    [[nodiscard]] std::string note() const { return packs_ ? packs_->note() : singles_->note(); }

   private:
    std::optional<HeldColumns<Exec, T, pack>> packs_;
    std::optional<HeldColumns<Exec, T, 1>> singles_;
  };
};

VariantRows register_columns() { return rows<Softmax, RegisterColumns>(); }

}  // namespace tessera::softmax
