// The pointwise half of one time step of a recurrent layer, forward and backward: what is left of a cell once its products are done.
//
// u = h W_hᵀ + b_h is the recurrent half of the gates and x the input half (its product and bias included); one D-wide column block a gate.
//   tanh  (Elman 1990)                    h' = tanh(x + u)
//   LSTM  (Hochreiter & Schmidhuber 1997, with the forget gate of Gers 2000; no peepholes), blocks i, f, g, o as in PyTorch (ONNX: i, o, f,
//   c)
//         i, f, o = sigmoid(x + u)        g = tanh(x_g + u_g)        c' = f ∘ c + i ∘ g        h' = o ∘ tanh(c')
//   GRU   (Cho 2014, eq. 5-8), blocks r, z, n as in PyTorch (ONNX: z, r, h); n is Cho's h̃
//         r, z = sigmoid(x + u)           h' = (1 - z) ∘ n + z ∘ h                  Cho 2014, eq. 5, 6 and 7
//         reset after the product         n = tanh(x_n + r ∘ (U_n h + b_n))         cuDNN, PyTorch, ONNX linear_before_reset = 1
//         reset before it                 n = tanh(x_n + U_n (r ∘ h) + b_n)         Cho 2014, eq. 8; Bahdanau 2015, A.1.1; ONNX's default
// Bahdanau's A.1.1 has h' = z ∘ n + (1 - z) ∘ h, the other sign of z: the same family of functions. Cho's decoder (A.1.2) resets after the
// product, and the context with it: r ∘ (U_n h + C c); here c is a part of x.
#pragma once

#include <cstdint>

#include "kernels/rows.h"

namespace jumok::kernels {

enum class Cell { kTanh, kGru, kLstm };

// Column blocks of the gates: rows of W_h are gates(cell) · D.
constexpr int gates(Cell cell) { return cell == Cell::kTanh ? 1 : cell == Cell::kGru ? 3 : 4; }
// Column blocks that a step keeps for its backward: tanh h'; GRU r, z, q, n (q is U_n h + b_n, or r ∘ h where the reset stands before the
// product); LSTM i, f, g, o, tanh(c').
constexpr int kept(Cell cell) { return cell == Cell::kTanh ? 1 : cell == Cell::kGru ? 4 : 5; }

// One time step of m sentences. Sentence r of the step reads row `row[r]` of x and writes that row of out.
struct CellStep {
  Cell cell = Cell::kGru;
  bool reset_after = true;       // GRU
  const int32_t* row = nullptr;  // [m] packed row of each sentence at this time; no two equal
  ConstRows x;                   // [N, G·D]
  const float* bias = nullptr;   // [G·D] of the recurrent half, or null
  ConstRows h, c;                // [m, D] the state before; c of the LSTM only
  Rows kept;                     // [m, kept·D]
  Rows h_next, c_next;           // [m, D] the state after; may be h and c themselves
  Rows out;                      // [N, D] h' again, at the packed rows; no data: not wanted
};

// In: h W_hᵀ in the first gates(cell) blocks of `kept`. Out: the activations there, the next state, out.
// Of a GRU with the reset before its product only r and z come with h; call cell_reset, put (r ∘ h) U_nᵀ (r ∘ h is the third block then)
// into the fourth block, then cell_forward.
void cell_forward(const CellStep& step);
void cell_reset(const CellStep& step);  // blocks r and z: activations; third block: r ∘ h

// The gradients of one step.
struct CellGradient {
  ConstRows dout;   // [N, D] at the packed rows, added to dh; no data: zero
  Rows dh;          // [m, D] in: of h_next. out, GRU: of h so far (without the products); tanh and LSTM: unchanged or changed, no meaning
  Rows dc;          // [m, D] LSTM. in: of c_next, out: of c
  Rows dgates;      // [m, G·D] out: of the product with h, so that dh += dgates W_h and dW_h += dgatesᵀ h; [m, 2·D] where n has its own
  Rows dcandidate;  // [m, D] out, reset before the product: of the product with r ∘ h
  Rows dx;          // [N, G·D] out, at the packed rows; no data: not wanted
  bool accumulate = false;  // dx +=
  ConstRows dreset;         // [m, D] cell_reset_backward only: of r ∘ h, which is dcandidate U_n
};

// With the reset before the product, block r comes from cell_reset_backward, after the caller's product dreset = dcandidate U_n.
void cell_backward(const CellStep& step, const CellGradient& gradient);
void cell_reset_backward(const CellStep& step, const CellGradient& gradient);

}  // namespace jumok::kernels
