#include "kernels/ref/recurrent_cell.h"

#include <cmath>

namespace jumok::kernels::ref {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
float narrow(double x) { return static_cast<float>(x); }

// Element c of sentence r's gates: block g of x and of u, of the kept activations.
struct Element {
  const CellStep& s;
  int64_t r, c, width;

  double x(int g) const { return s.x.row(s.row[r])[g * width + c]; }
  double bias(int g) const { return s.bias != nullptr ? s.bias[g * width + c] : 0; }
  float& kept(int g) const { return s.kept.row(r)[g * width + c]; }
  double gate(int g) const { return x(g) + kept(g) + bias(g); }
  double h() const { return s.h.row(r)[c]; }
};

template <class Body>
void for_elements(const CellStep& s, const Body& body) {
  for (int64_t r = 0; r < s.h.rows; ++r) {
    for (int64_t c = 0; c < s.h.columns; ++c) body(Element{s, r, c, s.h.columns});
  }
}

double next_lstm(const Element& e) {
  for (const int g : {0, 1, 3}) e.kept(g) = narrow(sigmoid(e.gate(g)));
  e.kept(2) = narrow(std::tanh(e.gate(2)));
  const double c = e.kept(1) * double{e.s.c.row(e.r)[e.c]} + e.kept(0) * double{e.kept(2)};
  e.s.c_next.row(e.r)[e.c] = narrow(c);
  e.kept(4) = narrow(std::tanh(c));
  return e.kept(3) * double{e.kept(4)};
}

double next_gru(const Element& e) {
  if (e.s.reset_after) {
    for (const int g : {0, 1}) e.kept(g) = narrow(sigmoid(e.gate(g)));
    e.kept(2) = narrow(e.kept(2) + e.bias(2));
    e.kept(3) = narrow(std::tanh(e.x(2) + e.kept(0) * double{e.kept(2)}));
  } else {
    e.kept(3) = narrow(std::tanh(e.x(2) + e.kept(3) + e.bias(2)));
  }
  const double z = e.kept(1);
  return (1 - z) * e.kept(3) + z * e.h();
}

void put_input(const Element& e, const CellGradient& d, int gate, double v) {
  if (d.dx.data == nullptr) return;
  float& to = d.dx.row(e.s.row[e.r])[gate * e.width + e.c];
  to = narrow(d.accumulate ? to + v : v);
}
void put_recurrent(const Element& e, const CellGradient& d, int gate, double v) { d.dgates.row(e.r)[gate * e.width + e.c] = narrow(v); }
void put(const Element& e, const CellGradient& d, int gate, double v) {
  put_input(e, d, gate, v);
  put_recurrent(e, d, gate, v);
}

void lstm_backward(const Element& e, const CellGradient& d, double dh) {
  const double i = e.kept(0), f = e.kept(1), g = e.kept(2), o = e.kept(3), t = e.kept(4);
  float& dc = d.dc.row(e.r)[e.c];
  const double cell = dc + dh * o * (1 - t * t);
  const double gradients[] = {cell * g * i * (1 - i), cell * e.s.c.row(e.r)[e.c] * f * (1 - f), cell * i * (1 - g * g),
                              dh * t * o * (1 - o)};
  for (int k = 0; k < 4; ++k) put(e, d, k, gradients[k]);
  dc = narrow(cell * f);
}

void gru_backward(const Element& e, const CellGradient& d, double dh) {
  const double r = e.kept(0), z = e.kept(1), q = e.kept(2), n = e.kept(3);
  const double dz = dh * (e.h() - n) * z * (1 - z), dn = dh * (1 - z) * (1 - n * n);
  if (e.s.reset_after) put(e, d, 0, dn * q * r * (1 - r));
  put(e, d, 1, dz);
  put_input(e, d, 2, dn);
  if (e.s.reset_after) {
    put_recurrent(e, d, 2, dn * r);
  } else {
    d.dcandidate.row(e.r)[e.c] = narrow(dn);
  }
  d.dh.row(e.r)[e.c] = narrow(dh * z);
}

}  // namespace

void cell_reset(const CellStep& step) {
  for_elements(step, [](const Element& e) {
    for (const int g : {0, 1}) e.kept(g) = narrow(sigmoid(e.gate(g)));
    e.kept(2) = narrow(e.kept(0) * e.h());
  });
}

void cell_forward(const CellStep& step) {
  for_elements(step, [&](const Element& e) {
    double h = 0;
    if (step.cell == Cell::kTanh) {
      h = std::tanh(e.gate(0));
      e.kept(0) = narrow(h);
    } else {
      h = step.cell == Cell::kGru ? next_gru(e) : next_lstm(e);
    }
    step.h_next.row(e.r)[e.c] = narrow(h);
    if (step.out.data != nullptr) step.out.row(step.row[e.r])[e.c] = narrow(h);
  });
}

void cell_backward(const CellStep& step, const CellGradient& d) {
  for_elements(step, [&](const Element& e) {
    const double dh = d.dh.row(e.r)[e.c] + (d.dout.data != nullptr ? d.dout.row(step.row[e.r])[e.c] : 0.0);
    if (step.cell == Cell::kTanh) {
      const double y = e.kept(0);
      put(e, d, 0, dh * (1 - y * y));
    } else if (step.cell == Cell::kGru) {
      gru_backward(e, d, dh);
    } else {
      lstm_backward(e, d, dh);
    }
  });
}

void cell_reset_backward(const CellStep& step, const CellGradient& d) {
  for_elements(step, [&](const Element& e) {
    const double r = e.kept(0), dreset = d.dreset.row(e.r)[e.c];
    const double dr = dreset * e.h() * r * (1 - r);
    put(e, d, 0, dr);
    float& dh = d.dh.row(e.r)[e.c];
    dh = narrow(dh + dreset * r);
  });
}

}  // namespace jumok::kernels::ref
