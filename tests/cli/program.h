// Runs the program under test (environment variable JUMOK_CLI) through the shell, as a user would.
#pragma once

#include <string>

namespace jumok {

struct Outcome {
  int status = 0;        // exit status; 128 + n when signal n ended it
  std::string out, err;  // what it wrote to standard output and standard error
};

// `arguments` is shell text: quoting, redirections and pipes work. Standard input is empty unless redirected. In the text, $JUMOK_CLI is
// the program.
Outcome run_jumok(const std::string& arguments);
Outcome run_shell(const std::string& command);

// A folder of its own under the system's temporary folder, removed with its contents at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace jumok
