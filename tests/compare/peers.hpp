#pragma once
/// \file Peers: what others' libraries do, as variants of our mini-apps. They are built into a program of their own
/// (tessera_peers), run by the same driver on the same input, verified against the same reference and timed in the same
/// way.

#include <string_view>
#include <vector>

#include <tessera/table/app.hpp>

namespace tessera::compare {

/// A library's answers to what a mini-app computes. A Plan is timed while it makes the library's own call and nothing
/// else; what its results need before they can be compared is the Plan's `complete(exec, input, output)`, which is not
/// timed.
struct Peer {
  std::string_view app;
  std::vector<VariantRows> variants;
};

/// The mini-apps of this build.
[[nodiscard]] std::vector<Peer> peers();

}  // namespace tessera::compare
