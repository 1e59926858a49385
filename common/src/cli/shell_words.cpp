#include <tessera/cli/shell_words.hpp>

#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace tessera {

std::string quoted(std::string const& text) {
  std::string_view const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%^";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
  std::string result = "'";
  for (char const letter : text) result += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return result + "'";
}

std::string program_as_called(std::string const& typed) {
  char const* const launcher = std::getenv("TESSERA_LAUNCHER");
  if (launcher == nullptr || *launcher == '\0') return quoted(typed);
  return std::string(launcher) + " " + quoted(std::filesystem::path(typed).filename().string());
}

}  // namespace tessera
