// What the machine can do at best, measured by loops of our own: the roof that rates are compared with.
#pragma once

namespace jumok::kernels {

// Each runs for about `seconds` on the calling thread and gives the ninth decile of the rates of short rounds.
double probe_fma(double seconds);   // f32 multiply-adds in registers, FLOP/s
double probe_read(double seconds);  // reading 256 MB of memory, bytes/s
double probe_exp(double seconds);   // our exp on values in the first-level cache, elements/s
double probe_tanh(double seconds);  // our tanh likewise

}  // namespace jumok::kernels
