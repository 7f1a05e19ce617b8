# Makes toy.spm and prints what Python's SentencePiece gives for it: the expected values in subwords_test.cc (sentencepiece 0.2.3).
import sentencepiece as spm

lines = ["the cat sat on the mat", "the   dog   sat   on   the   log", "a   cat and   a dog", "low lower lowest", "new newer newest"] * 20
spm.SentencePieceTrainer.train(
    sentence_iterator=iter(lines), model_prefix="toy", vocab_size=330, model_type="bpe", byte_fallback=True, normalization_rule_name="identity",
    remove_extra_whitespaces=False, allow_whitespace_only_pieces=True, user_defined_symbols=["@@1@@"], hard_vocab_limit=False, minloglevel=3)
import os
os.rename("toy.model", "toy.spm")
os.remove("toy.vocab")
sp = spm.SentencePieceProcessor(model_file="toy.spm")
print(sp.get_piece_size())
for line in ["the newest   cat", "x@@1@@y", "@@1@@@@1@@", "@@1@", "</s> dog", "\U0001F600 low"]:
    ids = sp.encode(line)
    print(repr(line), ids, sp.id_to_piece(ids), repr(sp.decode(ids)))
