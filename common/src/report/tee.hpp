#pragma once

#include <ostream>
#include <streambuf>
#include <vector>

namespace tessera {

/// The buffer of a stream whose text goes to several others, or to none.
class Tee : public std::streambuf {
 public:
  /// `out` must live as long as it is written to. What fails there (a full disk) is its state, and not that of the
  /// stream with this buffer: the others go on.
  void add(std::ostream& out) { sinks_.push_back(&out); }

 protected:
  int overflow(int letter) override {
    if (letter != traits_type::eof()) {
      for (std::ostream* sink : sinks_) sink->put(static_cast<char>(letter));
    }
    return traits_type::not_eof(letter);
  }
  std::streamsize xsputn(char const* text, std::streamsize count) override {
    for (std::ostream* sink : sinks_) sink->write(text, count);
    return count;
  }
  int sync() override {
    for (std::ostream* sink : sinks_) sink->flush();
    return 0;
  }

 private:
  std::vector<std::ostream*> sinks_;
};

}  // namespace tessera
