#include "program.h"

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"

namespace jumok {

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "jumok test XXXXXX").string();  // the space is on purpose
  check(mkdtemp(name.data()) != nullptr, "{}: cannot be made", name);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

Outcome run_shell(const std::string& command) {
  TemporaryFolder folder;
  const std::string out = folder / "out", err = folder / "err";
  const int code = std::system(("{ " + command + "\n} >'" + out + "' 2>'" + err + "' </dev/null").c_str());
  return {WIFSIGNALED(code) ? 128 + WTERMSIG(code) : WEXITSTATUS(code), read_file(out), read_file(err)};
}

Outcome run_jumok(const std::string& arguments) {
  check(std::getenv("JUMOK_CLI") != nullptr, "the environment variable JUMOK_CLI must name the program under test (ctest sets it)");
  return run_shell("\"$JUMOK_CLI\" " + arguments);
}

}  // namespace jumok
