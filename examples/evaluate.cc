// Scores translations against references: BLEU and chrF of two files, as sacreBLEU counts them.
//   ./evaluate hypothesis.txt reference.txt
#include <jumok/error.h>
#include <jumok/metrics.h>

#include <fstream>
#include <iostream>
#include <string>
#include <vector>

static std::vector<std::string> read_lines(const char* path) {
  std::ifstream file(path);
  if (!file) throw jumok::Error(std::string(path) + ": cannot be read");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: evaluate HYPOTHESIS REFERENCE\n";
    return 2;
  }
  try {
    const auto hypotheses = read_lines(argv[1]), references = read_lines(argv[2]);
    const jumok::BleuScore bleu = jumok::bleu(hypotheses, references);
    const jumok::ChrfScore chrf = jumok::chrf(hypotheses, references);
    std::cout << to_string(bleu) << "\n" << to_string(chrf) << "\n";
  } catch (const jumok::Error& error) {
    std::cerr << "evaluate: " << error.what() << "\n";
    return 1;
  }
}
