// bench/ops/convolution.peer.cpp — convolutions by oneDNN on one thread, from plain arrays to plain arrays.
// SPDX-License-Identifier: BSL-1.0
#include "linalg.hpp"

#ifdef OPS_DNNL
#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

namespace ops {

/// The weights are brought into the library's order once; images and results are in the order that ebb has too.
struct convolution_peer::parts {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::convolution_forward call;
  std::unordered_map<int, dnnl::memory> arguments;
};

convolution_peer::convolution_peer(const image_size& of, const float* x, const float* w, float* y) : parts_(new parts) {
  if (void* const set = dlsym(RTLD_DEFAULT, "omp_set_num_threads")) reinterpret_cast<void (*)(int)>(set)(1);
  using tag = dnnl::memory::format_tag;
  const auto extent = [](std::size_t n) { return static_cast<dnnl::memory::dim>(n); };
  const auto type = dnnl::memory::data_type::f32;
  const dnnl::memory::dims xs{extent(of.batch), extent(of.channels), extent(of.side), extent(of.side)};
  const dnnl::memory::dims ws{extent(of.filters), extent(of.channels), 3, 3};
  const dnnl::memory::dims ys{extent(of.batch), extent(of.filters), extent(of.side), extent(of.side)};
  const dnnl::memory::desc plain_x(xs, type, tag::nchw), plain_w(ws, type, tag::oihw), any_w(ws, type, tag::any),
      plain_y(ys, type, tag::nchw);
  const dnnl::convolution_forward::desc how(dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_auto, plain_x, any_w, plain_y,
                                            {1, 1}, {1, 1}, {1, 1});
  const dnnl::convolution_forward::primitive_desc chosen(how, parts_->engine);
  dnnl::memory weights(chosen.weights_desc(), parts_->engine), given(plain_w, parts_->engine, const_cast<float*>(w));
  dnnl::reorder(given, weights).execute(parts_->stream, given, weights);
  parts_->stream.wait();
  parts_->call = dnnl::convolution_forward(chosen);
  parts_->arguments = {{DNNL_ARG_SRC, dnnl::memory(plain_x, parts_->engine, const_cast<float*>(x))},
                       {DNNL_ARG_WEIGHTS, weights},
                       {DNNL_ARG_DST, dnnl::memory(plain_y, parts_->engine, y)}};
}
convolution_peer::~convolution_peer() { delete parts_; }
bool convolution_peer::exists() { return true; }
void convolution_peer::run() {
  parts_->call.execute(parts_->stream, parts_->arguments);
  parts_->stream.wait();
}

}  // namespace ops
#else
namespace ops {

struct convolution_peer::parts {};
convolution_peer::convolution_peer(const image_size&, const float*, const float*, float*) : parts_(nullptr) {}
convolution_peer::~convolution_peer() { delete parts_; }
bool convolution_peer::exists() { return false; }
void convolution_peer::run() {}

}  // namespace ops
#endif
