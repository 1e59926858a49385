#pragma once
/// \file
/// Peers: functions of other libraries, wrapped as variants of our mini-apps. They form a separate program
/// (tessera_peers) with the same driver, inputs, reference, verification and timing.

#include <string_view>
#include <vector>

#include <tessera/table/app.hpp>

namespace tessera::compare {

/// The peer variants of a mini-app. The timed part of a Plan contains only the library call. If the results need
/// further work before they can be compared, the Plan has `complete(exec, input, output)`, which is not timed.
struct Peer {
  std::string_view app;
  std::vector<VariantRows> variants;
};

/// The peers of this build.
[[nodiscard]] std::vector<Peer> peers();

}  // namespace tessera::compare
