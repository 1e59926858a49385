// All mini-apps of this build together with their peers: `tessera_peers run matmul --size 2^33 --variant
// register_tile,cublas`.

#include "all_apps.hpp"
#include "peers.hpp"

#include <algorithm>
#include <vector>

#include <tessera/study/run_suite.hpp>

int main(int argc, char** argv) {
  std::vector<tessera::App> apps = tessera::all_apps();
  for (tessera::compare::Peer const& peer : tessera::compare::peers()) {
    auto const app = std::ranges::find_if(apps, [&](tessera::App const& one) { return one.info.name == peer.app; });
    if (app == apps.end()) continue;  // not in this build
    for (tessera::VariantRows const& variant : peer.variants) {
      app->variants.push_back(variant.info);
      app->rows.insert(app->rows.end(), variant.rows.begin(), variant.rows.end());
    }
  }
  return tessera::run_suite(apps, argc, argv);
}
