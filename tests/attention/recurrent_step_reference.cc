#include "recurrent_step_reference.h"

#include <cmath>

namespace jumok::reference {
namespace {

using kernels::Cell;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// The numbers and, going back, their gradients.
struct Numbers {
  const StepShape& shape;
  const Vector& values;
  Vector& gradients;

  static size_t element(const MatrixPlace& p, size_t r, size_t c) {
    return static_cast<size_t>(p.offset) + r * static_cast<size_t>(p.stride) + c;
  }
  bool has(const std::string& name) const { return shape.places.contains(name); }
  const MatrixPlace& place(const std::string& name) const { return shape.places.at(name); }
  double value(const std::string& name, int64_t r, int64_t c) const {
    return values[element(place(name), static_cast<size_t>(r), static_cast<size_t>(c))];
  }
  double& gradient(const std::string& name, int64_t r, int64_t c) const {
    return gradients[element(place(name), static_cast<size_t>(r), static_cast<size_t>(c))];
  }
  Vector row(const std::string& name, int64_t r) const {
    Vector v;
    const MatrixPlace& p = place(name);
    for (size_t c = 0; c < static_cast<size_t>(p.columns); ++c) v.push_back(values[element(p, static_cast<size_t>(r), c)]);
    return v;
  }
  void add_to_row(const std::string& name, int64_t r, const Vector& d) const {
    for (size_t c = 0; c < d.size(); ++c) gradient(name, r, static_cast<int64_t>(c)) += d[c];
  }
  // y = W x; x itself where there is no such W.
  Vector times(const std::string& name, const Vector& x) const {
    if (!has(name)) return x;
    const MatrixPlace& w = place(name);
    Vector y(static_cast<size_t>(w.rows));
    for (size_t r = 0; r < y.size(); ++r) {
      for (size_t c = 0; c < x.size(); ++c) y[r] += values[element(w, r, c)] * x[c];
    }
    return y;
  }
  // dW += dy xᵀ, returns Wᵀ dy.
  Vector times_backward(const std::string& name, const Vector& x, const Vector& dy) const {
    if (!has(name)) return dy;
    const MatrixPlace& w = place(name);
    Vector dx(x.size());
    for (size_t r = 0; r < dy.size(); ++r) {
      for (size_t c = 0; c < x.size(); ++c) {
        gradients[element(w, r, c)] += dy[r] * x[c];
        dx[c] += dy[r] * values[element(w, r, c)];
      }
    }
    return dx;
  }
};

void add(Vector& to, const Vector& v) {
  for (size_t i = 0; i < v.size(); ++i) to[i] += v[i];
}
double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// ---- the cell ----

// W x + b and U h (+ its own bias) of one gate.
struct Gate {
  Vector input, state;
};
Gate gate(const Numbers& n, const std::string& g) {
  Gate p{n.times("cell.input." + g + ".weight", n.row("x", 0)), n.times("cell.state." + g + ".weight", n.row("h0", 0))};
  add(p.input, n.row("cell.input." + g + ".bias", 0));
  if (n.has("cell.state." + g + ".bias")) add(p.state, n.row("cell.state." + g + ".bias", 0));
  return p;
}
void gate_backward(const Numbers& n, const std::string& g, const Vector& dinput, const Vector& dstate) {
  n.add_to_row("x", 0, n.times_backward("cell.input." + g + ".weight", n.row("x", 0), dinput));
  n.add_to_row("h0", 0, n.times_backward("cell.state." + g + ".weight", n.row("h0", 0), dstate));
  n.add_to_row("cell.input." + g + ".bias", 0, dinput);
  if (n.has("cell.state." + g + ".bias")) n.add_to_row("cell.state." + g + ".bias", 0, dstate);
}

std::vector<std::string> gate_names(Cell cell) {
  if (cell == Cell::kTanh) return {"h"};
  return cell == Cell::kGru ? std::vector<std::string>{"r", "z", "n"} : std::vector<std::string>{"i", "f", "g", "o"};
}

struct CellResult {
  Vector h, c;                  // c of the LSTM
  std::vector<Gate> sums;       // by gate_names
  std::vector<Vector> actions;  // the gates behind their sigmoid or tanh
};

CellResult cell_forward(const Numbers& n) {
  const Cell cell = n.shape.cell;
  CellResult r;
  for (const std::string& g : gate_names(cell)) r.sums.push_back(gate(n, g));
  r.actions.resize(r.sums.size(), Vector(static_cast<size_t>(n.shape.width)));
  for (size_t d = 0; d < r.actions[0].size(); ++d) {
    const auto sum = [&](size_t g) { return r.sums[g].input[d] + r.sums[g].state[d]; };
    const double h0 = n.value("h0", 0, static_cast<int64_t>(d));
    if (cell == Cell::kTanh) {
      r.h.push_back(r.actions[0][d] = std::tanh(sum(0)));
    } else if (cell == Cell::kGru) {  // reset after the product
      const double reset = r.actions[0][d] = sigmoid(sum(0)), z = r.actions[1][d] = sigmoid(sum(1));
      const double candidate = r.actions[2][d] = std::tanh(r.sums[2].input[d] + reset * r.sums[2].state[d]);
      r.h.push_back((1 - z) * candidate + z * h0);
    } else {
      const double i = r.actions[0][d] = sigmoid(sum(0)), f = r.actions[1][d] = sigmoid(sum(1));
      const double g = r.actions[2][d] = std::tanh(sum(2)), o = r.actions[3][d] = sigmoid(sum(3));
      r.c.push_back(f * n.value("c0", 0, static_cast<int64_t>(d)) + i * g);
      r.h.push_back(o * std::tanh(r.c.back()));
    }
  }
  return r;
}

void cell_backward(const Numbers& n, const CellResult& r, const Vector& dh) {
  std::vector<Vector> dinput(r.sums.size(), Vector(dh.size())), dstate = dinput;
  const auto put = [&](size_t g, size_t d, double v) { dinput[g][d] = dstate[g][d] = v; };
  for (size_t d = 0; d < dh.size(); ++d) {
    const auto column = static_cast<int64_t>(d);
    if (n.shape.cell == Cell::kTanh) {
      put(0, d, dh[d] * (1 - r.h[d] * r.h[d]));
    } else if (n.shape.cell == Cell::kGru) {
      const double reset = r.actions[0][d], z = r.actions[1][d], candidate = r.actions[2][d];
      const double dn = dh[d] * (1 - z) * (1 - candidate * candidate);
      put(0, d, dn * r.sums[2].state[d] * reset * (1 - reset));
      put(1, d, dh[d] * (n.value("h0", 0, column) - candidate) * z * (1 - z));
      dinput[2][d] = dn;
      dstate[2][d] = dn * reset;
      n.gradient("h0", 0, column) += dh[d] * z;
    } else {
      const double i = r.actions[0][d], f = r.actions[1][d], g = r.actions[2][d], o = r.actions[3][d], t = std::tanh(r.c[d]);
      const double dc = n.shape.of_cell[d] + dh[d] * o * (1 - t * t);
      put(0, d, dc * g * i * (1 - i));
      put(1, d, dc * n.value("c0", 0, column) * f * (1 - f));
      put(2, d, dc * i * (1 - g * g));
      put(3, d, dh[d] * t * o * (1 - o));
      n.gradient("c0", 0, column) += dc * f;
    }
  }
  const std::vector<std::string> names = gate_names(n.shape.cell);
  for (size_t g = 0; g < names.size(); ++g) gate_backward(n, names[g], dinput[g], dstate[g]);
}

// ---- the attention ----

struct Attended {
  Vector q, hidden;                   // projected query; tanh(W_p h) of local-p
  std::vector<Vector> k, v;           // [S]
  double centre = 0;                  // p
  std::vector<Vector> alpha, weight;  // [H][S] softmax, and times the Gaussian; 0 where not seen
  Vector mixed, c;                    // before and behind W_O
};

bool is_additive(Score s) { return s == Score::kAdditive || s == Score::kConcat; }
bool is_scaled(Score s) { return s == Score::kScaledDot || s == Score::kMultiHead; }
size_t heads_of(const StepShape& s) { return s.score == Score::kMultiHead ? static_cast<size_t>(s.heads) : 1; }
double scale_of(const StepShape& s, size_t head_width) { return is_scaled(s.score) ? 1 / std::sqrt(static_cast<double>(head_width)) : 1; }

bool sees(const StepShape& s, const Attended& a, int64_t j) {
  if (s.score == Score::kLocation && j >= static_cast<int64_t>(a.q.size())) return false;  // W_a has no row for it
  if (s.window == Window::kGlobal) return true;
  const double centre = s.window == Window::kLocalM ? static_cast<double>(std::min(s.position, s.keys - 1)) : a.centre;
  return std::abs(static_cast<double>(j) - centre) <= s.half_width;
}
double gaussian(const StepShape& s, const Attended& a, int64_t j) {
  if (s.window != Window::kLocalP) return 1;
  const double sigma = s.half_width / 2.0, distance = static_cast<double>(j) - a.centre;
  return std::exp(-distance * distance / (2 * sigma * sigma));
}

double score(const Numbers& n, const Attended& a, size_t head, size_t j) {
  if (n.shape.score == Score::kLocation) return a.q[j];
  const size_t width = a.q.size() / heads_of(n.shape);
  double sum = 0;
  for (size_t c = head * width; c < (head + 1) * width; ++c) {
    sum += is_additive(n.shape.score) ? n.value("attention.score", 0, static_cast<int64_t>(c)) * std::tanh(a.q[c] + a.k[j][c])
                                      : a.q[c] * a.k[j][c];
  }
  return sum * scale_of(n.shape, width);
}

const char* query_name(const StepShape& s) { return s.score == Score::kLocation ? "attention.location.weight" : "attention.query.weight"; }

Attended attend(const Numbers& n, const Vector& h) {
  const StepShape& s = n.shape;
  Attended a;
  a.q = n.times(query_name(s), h);
  for (int64_t j = 0; j < s.keys; ++j) {
    a.k.push_back(n.times("attention.key.weight", n.row("memory", j)));
    a.v.push_back(n.times("attention.value.weight", n.row("memory", j)));
  }
  if (s.window == Window::kLocalP) {
    a.hidden = n.times("attention.centre.hidden.weight", h);
    for (double& x : a.hidden) x = std::tanh(x);
    a.centre = static_cast<double>(s.keys) * sigmoid(n.times("attention.centre.score.weight", a.hidden)[0]);
  }
  const size_t heads = heads_of(s), width = a.v[0].size() / heads;
  a.mixed.assign(a.v[0].size(), 0);
  for (size_t head = 0; head < heads; ++head) {
    Vector alpha(a.k.size()), weight(a.k.size());
    double sum = 0;
    for (size_t j = 0; j < alpha.size(); ++j) {
      if (sees(s, a, static_cast<int64_t>(j))) sum += alpha[j] = std::exp(score(n, a, head, j));
    }
    for (size_t j = 0; j < alpha.size(); ++j) {
      alpha[j] /= sum;
      weight[j] = alpha[j] * gaussian(s, a, static_cast<int64_t>(j));
      for (size_t c = head * width; c < (head + 1) * width; ++c) a.mixed[c] += weight[j] * a.v[j][c];
    }
    a.alpha.push_back(alpha);
    a.weight.push_back(weight);
  }
  a.c = n.times("attention.output.weight", a.mixed);
  return a;
}

// From ∂loss/∂e_j to query and key j (and v_a).
void score_backward(const Numbers& n, const Attended& a, size_t head, size_t j, double de, Vector& dq, Vector& dk) {
  if (n.shape.score == Score::kLocation) {
    dq[j] += de;
    return;
  }
  const size_t width = a.q.size() / heads_of(n.shape);
  de *= scale_of(n.shape, width);
  for (size_t c = head * width; c < (head + 1) * width; ++c) {
    if (!is_additive(n.shape.score)) {
      dq[c] += de * a.k[j][c];
      dk[c] += de * a.q[c];
      continue;
    }
    const auto column = static_cast<int64_t>(c);
    const double t = std::tanh(a.q[c] + a.k[j][c]), slope = n.value("attention.score", 0, column) * (1 - t * t);
    n.gradient("attention.score", 0, column) += de * t;
    dq[c] += de * slope;
    dk[c] += de * slope;
  }
}

// p = S σ(v_p · tanh(W_p h)), returns what arrives at h.
Vector centre_backward(const Numbers& n, const Attended& a, const Vector& h, double dcentre) {
  const double share = a.centre / static_cast<double>(n.shape.keys);
  const Vector du = {dcentre * static_cast<double>(n.shape.keys) * share * (1 - share)};
  Vector dhidden = n.times_backward("attention.centre.score.weight", a.hidden, du);
  for (size_t i = 0; i < dhidden.size(); ++i) dhidden[i] *= 1 - a.hidden[i] * a.hidden[i];
  return n.times_backward("attention.centre.hidden.weight", h, dhidden);
}

// Returns ∂loss/∂h by the attention.
Vector attend_backward(const Numbers& n, const Attended& a, const Vector& h) {
  const StepShape& s = n.shape;
  const Vector dmixed = n.times_backward("attention.output.weight", a.mixed, s.of_c);
  Vector dq(a.q.size());
  std::vector<Vector> dk(a.k.size(), Vector(a.k[0].size())), dv(a.v.size(), Vector(a.v[0].size()));
  double dcentre = 0;
  const size_t heads = heads_of(s), width = dmixed.size() / heads;
  for (size_t head = 0; head < heads; ++head) {
    Vector dalpha(a.k.size());
    for (size_t j = 0; j < dalpha.size(); ++j) {
      double dweight = 0;
      for (size_t c = head * width; c < (head + 1) * width; ++c) {
        dweight += dmixed[c] * a.v[j][c];
        dv[j][c] += a.weight[head][j] * dmixed[c];
      }
      dalpha[j] = dweight * gaussian(s, a, static_cast<int64_t>(j));
      const double sigma = s.half_width / 2.0;
      if (s.window == Window::kLocalP) dcentre += dweight * a.weight[head][j] * (static_cast<double>(j) - a.centre) / (sigma * sigma);
    }
    const double mean = dot(a.alpha[head], dalpha);
    for (size_t j = 0; j < dalpha.size(); ++j) {
      if (sees(s, a, static_cast<int64_t>(j))) score_backward(n, a, head, j, a.alpha[head][j] * (dalpha[j] - mean), dq, dk[j]);
    }
  }
  for (size_t j = 0; j < dk.size(); ++j) {
    const auto row = static_cast<int64_t>(j);
    if (s.score != Score::kLocation) n.add_to_row("memory", row, n.times_backward("attention.key.weight", n.row("memory", row), dk[j]));
    n.add_to_row("memory", row, n.times_backward("attention.value.weight", n.row("memory", row), dv[j]));
  }
  Vector dh = n.times_backward(query_name(s), h, dq);
  if (s.window == Window::kLocalP) add(dh, centre_backward(n, a, h, dcentre));
  return dh;
}

}  // namespace

double step_loss(const StepShape& shape, const Vector& numbers) {
  Vector none;
  const Numbers n{shape, numbers, none};
  const CellResult cell = cell_forward(n);
  const double of_cell = cell.c.empty() ? 0 : dot(shape.of_cell, cell.c);
  return dot(shape.of_c, attend(n, cell.h).c) + dot(shape.of_h, cell.h) + of_cell;
}

Vector step_gradient(const StepShape& shape, const Vector& numbers) {
  Vector gradients(numbers.size());
  const Numbers n{shape, numbers, gradients};
  const CellResult cell = cell_forward(n);
  Vector dh = attend_backward(n, attend(n, cell.h), cell.h);
  add(dh, shape.of_h);
  cell_backward(n, cell, dh);
  return gradients;
}

}  // namespace jumok::reference
