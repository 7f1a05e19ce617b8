#include "gemm/matmul_primitive.h"

#include <array>
#include <dnnl.hpp>
#include <map>
#include <vector>

namespace jumok::gemm {
namespace {

using kernels::ConstRows;
using kernels::Rows;
using Shape = std::array<int64_t, 7>;  // M, N, K, the three row strides, accumulate

struct Primitive {
  dnnl::matmul matmul;
  dnnl::memory a, b, c, scratchpad;
};

// oneDNN's engine and stream, and the primitives made so far: one set a thread, because a primitive's scratchpad and memory handles are not
// shared.
class PrimitiveCache {
 public:
  void run(ConstRows a, ConstRows b, Rows c, bool accumulate) {
    const Shape shape = {a.rows, b.rows, a.columns, a.stride, b.stride, c.stride, accumulate};
    auto found = primitives_.find(shape);
    if (found == primitives_.end()) found = primitives_.emplace(shape, make(shape)).first;
    Primitive& p = found->second;
    p.a.set_data_handle(const_cast<float*>(a.data));
    p.b.set_data_handle(const_cast<float*>(b.data));
    p.c.set_data_handle(c.data);
    p.matmul.execute(stream_, {{DNNL_ARG_SRC, p.a}, {DNNL_ARG_WEIGHTS, p.b}, {DNNL_ARG_DST, p.c}, {DNNL_ARG_SCRATCHPAD, p.scratchpad}});
    stream_.wait();
  }

 private:
  Primitive make(const Shape& s) {
    const auto type = dnnl::memory::data_type::f32;
    const dnnl::memory::desc a({s[0], s[2]}, type, dnnl::memory::dims{s[3], 1});
    const dnnl::memory::desc b({s[2], s[1]}, type, dnnl::memory::dims{1, s[4]});  // Bᵀ of the [N, K] view
    const dnnl::memory::desc c({s[0], s[1]}, type, dnnl::memory::dims{s[5], 1});
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(
        dnnl::scratchpad_mode::user);  // the library's own scratchpad is silently wrong when threads share a primitive
    if (s[6] != 0) {
      dnnl::post_ops sum;
      sum.append_sum(1.0f);
      attributes.set_post_ops(sum);
    }
    const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(a, b, c), attributes, engine_);
    return {dnnl::matmul(description), dnnl::memory(a, engine_, nullptr), dnnl::memory(b, engine_, nullptr),
            dnnl::memory(c, engine_, nullptr), dnnl::memory(description.scratchpad_desc(), engine_)};
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::map<Shape, Primitive> primitives_;
};

}  // namespace

void matmul_nt(ConstRows a, ConstRows b, Rows c, bool accumulate) {
  thread_local PrimitiveCache cache;  // a memo, not state: what it holds never changes a result
  cache.run(a, b, c, accumulate);
}

}  // namespace jumok::gemm
