#include <tessera/core/parameters.hpp>

namespace tessera::detail {

std::vector<ParameterSpec> specs_of(std::vector<StoredParameter> const& members) {
  std::vector<ParameterSpec> specs;
  for (StoredParameter const& member : members) specs.push_back(member.spec);
  return specs;
}

void store_parameters(std::vector<StoredParameter> const& members, ParameterMap const& map, void* parameters) {
  for (StoredParameter const& member : members) {
    if (auto const found = map.find(member.spec.name); found != map.end()) member.set(parameters, found->second);
  }
}

}  // namespace tessera::detail
