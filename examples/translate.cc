// Translates standard input line by line with a trained model, and shows which source word each target word attended to most.
//   ./translate MODEL < sentences.txt
#include <jumok/translator.h>

#include <iostream>
#include <string>
#include <vector>

static void show(const jumok::Translation& translation) {
  std::cout << translation.text << "\n";
  const jumok::Alignment& a = translation.alignment;
  for (const auto& [source, target] : a.links) {
    std::cout << "  " << a.target_words[target] << " <- " << a.source_words[source] << "  ("
              << a.weights[target * a.source_words.size() + source] << ")\n";
  }
}

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: translate MODEL < sentences\n";
    return 2;
  }
  try {
    const jumok::Translator translator(argv[1], {.log = [](jumok::LogLevel, const std::string& text) { std::cerr << text << "\n"; }});
    std::vector<std::string> lines;
    for (std::string line; std::getline(std::cin, line);) lines.push_back(line);
    for (const auto& translations : translator.translate(lines, {.beam = 4, .alignments = true})) show(translations.front());
  } catch (const jumok::Error& error) {
    std::cerr << "translate: " << error.what() << "\n";
    return 1;
  }
}
