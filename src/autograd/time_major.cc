#include "autograd/time_major.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace jumok {
namespace {

void check_sentences(Arena& arena, std::span<const int32_t> begin, std::span<const int32_t> length, int64_t rows) {
  check(begin.size() == length.size(), "recurrent layer: expected as many lengths as first rows, found {} and {}", length.size(),
        begin.size());
  const std::span<char> taken = arena.allocate<char>(rows);
  std::fill(taken.begin(), taken.end(), 0);
  for (size_t b = 0; b < begin.size(); ++b) {
    const int64_t first = begin[b], n = length[b];
    if (n == 0) continue;  // where an empty sentence would begin does not matter
    check(first >= 0 && n > 0 && first + n <= rows, "recurrent layer: sentence {} has rows {} to {} of {}", b, first, first + n, rows);
    for (char& t : taken.subspan(first, n)) {
      check(t == 0, "recurrent layer: sentence {} shares a row with an earlier one (rows {} to {})", b, first, first + n);
      t = 1;
    }
  }
}

}  // namespace

TimeMajor time_major(Arena& arena, std::span<const int32_t> begin, std::span<const int32_t> length, int64_t rows, bool reversed) {
  check_sentences(arena, begin, length, rows);
  TimeMajor m;
  m.order = arena.allocate<int32_t>(static_cast<int64_t>(length.size()));
  std::iota(m.order.begin(), m.order.end(), 0);
  const auto longer = [&](int32_t a, int32_t b) { return length[a] > length[b]; };
  m.ordered = std::is_sorted(m.order.begin(), m.order.end(), longer);
  if (!m.ordered) std::stable_sort(m.order.begin(), m.order.end(), longer);
  m.steps = m.order.empty() ? 0 : length[m.order[0]];
  m.first = arena.allocate<int32_t>(m.steps + 1);
  m.row = arena.allocate<int32_t>(std::accumulate(length.begin(), length.end(), int64_t{0}));
  size_t alive = m.order.size();
  int32_t next = 0;
  for (int64_t t = 0; t < m.steps; ++t) {
    while (length[m.order[alive - 1]] <= t) --alive;
    m.first[t] = next;
    for (size_t rank = 0; rank < alive; ++rank) {
      const int32_t b = m.order[rank];
      m.row[next++] = begin[b] + static_cast<int32_t>(reversed ? length[b] - 1 - t : t);
    }
  }
  m.first[m.steps] = next;
  return m;
}

}  // namespace jumok
