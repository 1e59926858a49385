#pragma once

#include <ostream>
#include <streambuf>
#include <vector>

namespace tessera {

/// A stream buffer whose text goes to any number of other streams.
class Tee : public std::streambuf {
 public:
  /// `out` must outlive all writes. A failure there (a full disk) sets the state of `out` but not of the stream with
  /// this buffer; the other streams continue.
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
