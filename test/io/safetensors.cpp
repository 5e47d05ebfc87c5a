// test/io/safetensors.cpp — safetensors files, against those of Python's package; structures, variables, optimizers; in-place reading.
// SPDX-License-Identifier: BSL-1.0
// covers: safetensors.hpp safetensors_file.hpp names.hpp stored_elements.hpp mapped_file.hpp
#include "files.hpp"

#include <ebb/ebb.hpp>
#include <ebb/io/safetensors.hpp>

#include <array>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <sys/resource.h>

using ebb::dyn, ebb::tensor, ebb::variable;
using test::directory, test::bytes_of;

namespace {

const std::string by_python = EBB_TEST_DATA "/weights/by_python.safetensors";
const std::string other_types = EBB_TEST_DATA "/weights/other_types.safetensors";

template <template <class, std::size_t...> class Array>
struct dense {
  using matrix = Array<float, 2, 3>;
  using row = Array<float, 2>;
  BOOST_HANA_DEFINE_STRUCT(dense, (matrix, weight), (row, bias));
};
template <template <class, std::size_t...> class Array>
struct network {
  using layer = dense<Array>;
  using pair = std::array<layer, 2>;
  using list = std::vector<layer>;
  using two = std::tuple<Array<double, 2>, Array<ebb::float16, dyn>>;
  BOOST_HANA_DEFINE_STRUCT(network, (layer, fc), (pair, blocks), (list, more), (two, rest), (std::int64_t, count));
};

/// Each array another multiple of 0, 1, 2, ...
network<tensor> some_network() {
  network<tensor> n;
  n.more.resize(1);
  n.rest = {tensor<double, 2>{1e300, 0.1}, tensor<ebb::float16, dyn>::iota(4)};
  n.count = -7;
  float factor = 1;
  const auto fill = [&](dense<tensor>& d) {
    d.weight = tensor<float, 2, 3>::generate([&](std::size_t i) { return factor * static_cast<float>(i); });
    d.bias = {factor, -factor};
    ++factor;
  };
  fill(n.fc), fill(n.blocks[0]), fill(n.blocks[1]), fill(n.more[0]);
  return n;
}
template <class A>
std::string bits_of(const A& a) {
  return {reinterpret_cast<const char*>(ebb::borrow<A>::data(a)), ebb::layout_in(a).size() * sizeof(ebb::borrowed_element<A>)};
}
void require_same(const auto& a, const auto& b) {
  ebb::each_leaf([](const auto& x, const auto& y) { CHECK(bits_of(x) == bits_of(y)); }, a, b);
}
std::vector<std::string> names_in(const ebb::safetensors& file) {
  std::vector<std::string> names;
  for (const auto& a : file.arrays()) names.push_back(a.name);
  return names;
}

/// The arrays that make.py puts into its file.
auto contents_of_by_python(auto&& f) {
  using ebb::with_name;
  const tensor<float, 2, 3> weight{1, 2.5f, -3, 4, 5, 1.f / 3};
  const tensor<float, 2> bias{0.5f, -0.f};
  const tensor<ebb::float16, 3> first{ebb::float16(1.f), ebb::float16(0.1f), ebb::float16(65504.f)};
  const tensor<double, 2> second{3.141592653589793, -1e300};
  const tensor<bool, 3> flags{true, false, true};
  const tensor<std::int32_t, 1, 2, 2> labels{{{1, -2}, {3, 2147483647}}};
  const tensor<std::int64_t, 2> big{INT64_MIN, (std::int64_t{1} << 53) + 1};
  const tensor<float, 0, 3> empty;
  const tensor<float, 1> nine{9};
  const tensor<ebb::bfloat16, 3> half{ebb::bfloat16(1.f), ebb::bfloat16(-2.5f), ebb::bfloat16(0.15625f)};
  return f(with_name("fc.weight", weight), with_name("fc.bias", bias), with_name("layers", std::tie(first, second)),
           with_name("flags", flags), with_name("labels", labels), with_name("big", big), with_name("number", 7.5f),
           with_name("empty", empty), with_name("quote\"\\\t\x01 \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", nine), with_name("half", half));
}

}  // namespace

TEST_CASE("Python's safetensors file is read, in copies and in place") {
  const ebb::safetensors file(by_python);
  CHECK(file.arrays().size() == 11);
  CHECK(file.metadata() == ebb::texts_by_name{{"format", "np"}});
  CHECK(ebb::all_equal(file.load<float, dyn, 3>("fc.weight"), tensor<float, 2, 3>{1, 2.5f, -3, 4, 5, 1.f / 3}));
  CHECK(bits_of(file.load<float, 2>("fc.bias")) == bits_of(tensor<float, 2>{0.5f, -0.f}));
  CHECK(file.view<double, 2>("layers.1")(1) == -1e300);
  CHECK(file.view<ebb::bfloat16, dyn>("half")(2) == ebb::bfloat16(0.15625f));
  CHECK(file.view<std::int32_t, 1, 2, 2>("labels")(0, 1, 1) == 2147483647);
  CHECK(file.load<std::int64_t, 2>("big")(0) == INT64_MIN);
  CHECK(file.load<float>("number") == 7.5f);
  CHECK(file.view<bool, 3>("flags")(2));
  CHECK(file.load<float, dyn, 3>("empty").extent(0) == 0);
  CHECK(file.contains("quote\"\\\t\x01 \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"));
  CHECK(!file.contains("fc"));
  // In place is in place: two views are the same memory, and it is the file's.
  CHECK(file.view<float, 2, 3>("fc.weight").data() == file.view<float, dyn, dyn>("fc.weight").data());
  CHECK(reinterpret_cast<const char*>(file.view<float, 2>("fc.bias").data()) + sizeof(float[2]) ==
        reinterpret_cast<const char*>(file.view<float, 2, 3>("fc.weight").data()));

  auto moved = ebb::safetensors(by_python);
  ebb::safetensors again(std::move(moved));
  moved = ebb::safetensors(other_types);
  CHECK(again.view<float, 2>("fc.bias")(0) == 0.5f);
  CHECK(moved.contains("uint8"));
  // Every type that Python's package can write is listed, so that one array of such a type does not keep a reader from the others.
  std::string found;
  for (const ebb::stored_array& a : moved.arrays()) found += std::string(a.type->name) + " ";
  std::string of_temporary;  // the loop keeps what it goes through, not the file
  for (const auto& a : ebb::safetensors(other_types).arrays()) of_temporary += std::string(a.type->name) + " ";
  for (const auto& [key, text] : ebb::safetensors(by_python).metadata()) of_temporary += key + '=' + text;
  CHECK(of_temporary == found + "format=np");
  CHECK(found == "U64 C64 U32 U16 I16 F8_E5M2FNUZ F8_E4M3FNUZ F8_E8M0 F8_E4M3 F8_E5M2 I8 U8 F4 ");
  CHECK(test::raised([&] { moved.load<float, dyn>("float8_e4m3fnuz", {.convert = true}); }).find("found F8_E4M3FNUZ of shape [3]") !=
        std::string::npos);
}

TEST_CASE("what is saved is byte for byte what Python's package writes") {
  directory dir;
  const std::string path = dir.file("a.safetensors");
  contents_of_by_python([&](const auto&... x) { ebb::save_safetensors(path, std::tie(x...), {{"format", "np"}}); });
  CHECK(bytes_of(path) == bytes_of(by_python));
  CHECK(bytes_of(path + ".part") == "no file");
}

TEST_CASE("structures are saved and loaded by the names of members and the numbers of elements") {
  directory dir;
  const std::string path = dir.file("a.safetensors");
  const auto n = some_network();
  ebb::save_safetensors(path, n, {{"b", "\"1\"\n"}, {"a", "\xc3\xa9"}});
  const ebb::safetensors file(path);
  CHECK(names_in(file) == std::vector<std::string>{"count", "rest.0", "blocks.0.bias", "blocks.0.weight", "blocks.1.bias",
                                                   "blocks.1.weight", "fc.bias", "fc.weight", "more.0.bias", "more.0.weight", "rest.1"});
  CHECK(file.metadata() == ebb::texts_by_name{{"b", "\"1\"\n"}, {"a", "\xc3\xa9"}});

  network<tensor> m;
  m.more.resize(1);
  file.load(m);
  require_same(n, m);
  CHECK(m.count == -7);
  // Variables that are undefined become leaves; defined ones keep their gradient, their hooks and what else is known of them.
  network<variable> v;
  v.more.resize(1);
  file.load(v);
  require_same(n, v);
  CHECK(v.fc.weight.is_leaf());
  const auto same = v.fc.weight;
  v.fc.weight.assign(tensor<float, 2, 3>());
  file.load(v);
  CHECK(same.is_same(v.fc.weight));
  CHECK(same.version() == 2);
  require_same(n, v);
  ebb::save_safetensors(path, v);
  network<tensor> w;
  w.more.resize(1);
  ebb::load_safetensors(path, w);
  require_same(n, w);
  ebb::save_safetensors(path, n.fc);
  require_same(ebb::load_safetensors<dense<tensor>>(path), n.fc);
}

TEST_CASE("with_name maps a structure to the names of another") {
  dense<tensor> d;
  tensor<double, dyn> second;
  std::vector<float> bias(2);
  float number = 0;
  const ebb::safetensors file(by_python);
  file.load(ebb::with_name("fc", d), {.partial = true});
  CHECK(d.weight(1, 1) == 5);
  d = {};
  file.load(std::tuple(ebb::with_name("fc.weight", d.weight), ebb::with_name("fc", ebb::with_name("bias", bias)),
                       ebb::with_name("layers.1", second), ebb::with_name("number", number)),
            {.partial = true});
  CHECK(d.weight(1, 1) == 5);
  CHECK(bias[0] == 0.5f);
  CHECK(second(0) == 3.141592653589793);
  CHECK(number == 7.5f);
  file.load(std::tuple(ebb::with_name("fc", std::tuple(ebb::with_name("weight", d.weight)))), {.partial = true});
  // A handle that is const, to memory that is not.
  float memory[2] = {};
  const auto parts = std::tuple(ebb::with_name("fc.bias", ebb::view<float, 2>(memory)), ebb::with_name("number", number));
  file.load(parts, {.partial = true});
  CHECK(memory[0] == 0.5f);
  const std::span<float> handle(memory + 1, 1);
  file.load(ebb::with_name("quote\"\\\t\x01 \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", handle), {.partial = true});
  CHECK(memory[1] == 9);
}

TEST_CASE("a load that is refused says why, and has changed nothing") {
  directory dir;
  const std::string path = dir.file("a.safetensors");
  auto n = some_network();
  ebb::save_safetensors(path, n);
  const auto problem = [&](auto&& f) {
    const std::string text = test::raised(f);
    const std::string start = "ebb::safetensors::load: " + path + ": ";
    CHECK(text.substr(0, start.size()) == start);
    return text.size() > start.size() ? text.substr(start.size()) : text;
  };
  const ebb::safetensors file(path);
  CHECK(problem([&] { file.load<float, 2>("fc.bia"); }) == "there is no array called \"fc.bia\"");
  CHECK(problem([&] { file.load<float, 3>("fc.bias"); }) == "\"fc.bias\": expected F32 of shape [3], found F32 of shape [2]");
  CHECK(problem([&] { file.load<float>("fc.bias"); }) == "\"fc.bias\": expected F32 of shape [], found F32 of shape [2]");
  CHECK(problem([&] { file.load<std::int32_t, 2>("fc.bias"); }) == "\"fc.bias\": expected I32 of shape [2], found F32 of shape [2]");
  CHECK(problem([&] { file.load<std::int32_t, 2>("fc.bias", {.convert = true}); }) ==
        "\"fc.bias\": expected I32 of shape [2], found F32 of shape [2]");
  CHECK(problem([&] { file.load<double, dyn>("fc.bias"); }) ==
        "\"fc.bias\": expected F64 of shape [dyn], found F32 of shape [2]; a load with load_options{.convert = true} converts it");

  network<tensor> m{};  // without its vector's element
  CHECK(problem([&] { file.load(m); }) ==
        "nothing in the structure is called \"more.0.bias\"; load_options{.partial = true} leaves it aside");
  CHECK(m.fc.weight(1, 2) == 0);
  m.more.resize(2);
  CHECK(problem([&] { file.load(m); }) == "there is no array called \"more.1.weight\"");
  CHECK(m.fc.weight(1, 2) == 0);
  CHECK(m.count == 0);
  std::vector<float> three(3);
  CHECK(problem([&] { file.load(ebb::with_name("fc.bias", three), {.partial = true}); }) ==
        "\"fc.bias\": expected F32 of shape [3], found F32 of shape [2]");
  // A variable has its extents from its birth, also the dynamic ones; a tensor takes those of the file.
  variable<float, dyn, dyn> v(tensor<float, dyn, dyn>(2, 2));
  CHECK(problem([&] { file.load(ebb::with_name("fc.weight", v), {.partial = true}); }) ==
        "\"fc.weight\": expected F32 of shape [2, 2], found F32 of shape [2, 3]");
  tensor<float, dyn, dyn> t(2, 2);
  file.load(ebb::with_name("fc.weight", t), {.partial = true});
  CHECK(t.extent(1) == 3);
  auto sum = v + v;
  variable<float, dyn, dyn> result = sum;
  CHECK(problem([&] { file.load(ebb::with_name("fc.weight", result), {.partial = true}); }) ==
        "\"fc.weight\" would be loaded into a variable that is no leaf");
  CHECK(test::raised([&] { file.view<double, 2>("fc.bias"); }) ==
        "ebb::safetensors::view: " + path + ": \"fc.bias\": expected F64 of shape [2], found F32 of shape [2]; "
        "a load with load_options{.convert = true} converts it");
}

TEST_CASE("elements are converted where that is asked for") {
  const ebb::safetensors file(by_python), other(other_types);
  const ebb::load_options convert{.convert = true};
  CHECK(file.load<double, 3>("layers.0", convert)(1) == 0.0999755859375);
  CHECK(file.load<float, 3>("half", convert)(2) == 0.15625f);
  CHECK(file.load<float, 2>("layers.1", convert)(0) == 3.14159274f);
  CHECK(std::isinf(file.load<float, 2>("layers.1", convert)(1)));
  CHECK(file.load<ebb::bfloat16, 2, 3>("fc.weight", convert)(1, 2) == ebb::bfloat16(1.f / 3));
  CHECK(file.load<ebb::float16, 3>("half", convert)(1) == ebb::float16(-2.5f));
  CHECK(file.load<ebb::bfloat16, 2>("layers.1", convert)(0) == ebb::bfloat16(3.140625f));
  CHECK(file.load<std::int64_t, 1, 2, 2>("labels", convert)(0, 0, 1) == -2);
  CHECK(test::raised([&] { file.load<std::int32_t, 2>("big", convert); }) != "");
  CHECK(test::raised([&] { file.load<std::int32_t, 3>("flags", convert); }) != "");
  CHECK(test::raised([&] { file.load<bool, 1, 2, 2>("labels", convert); }) != "");
  for (const char* name : {"uint8", "int8", "uint16", "int16"}) {
    CHECK(other.load<std::int32_t, 3>(name, convert)(2) == 100);
    CHECK(test::raised([&] { other.load<std::int32_t, 3>(name); }) != "");
    CHECK(test::raised([&] { other.load<float, 3>(name, convert); }) != "");
  }
  CHECK(other.load<std::int64_t, 3>("uint32", convert)(2) == 100);
  CHECK(test::raised([&] { other.load<std::int32_t, 3>("uint32", convert); }) != "");
  CHECK(test::raised([&] { other.load<std::int64_t, 3>("uint64", convert); }) != "");
  dense<tensor> d;
  file.load(ebb::with_name("fc", d), {.convert = true, .partial = true});
  CHECK(d.weight(0, 1) == 2.5f);
}

TEST_CASE("an optimizer is saved and loaded with its parameters, and goes on as if nothing had happened") {
  directory dir;
  const std::string path = dir.file("a.safetensors");
  const auto run = [&](const auto& rule, bool through_a_file) {
    dense<variable> p{variable(tensor<float, 2, 3>{1, 2, 3, 4, 5, 6}), variable(tensor<float, 2>{1, 2})};
    variable<ebb::bfloat16, 3> narrow(tensor<ebb::bfloat16, 3>{ebb::bfloat16(1.f), ebb::bfloat16(2.f), ebb::bfloat16(3.f)});
    ebb::optimizer opt(rule, p, narrow);
    const auto step = [&](auto& q, auto& thin, auto& o) {
      o.zero_grad();
      (ebb::sum(q.weight * q.weight) + ebb::sum(q.bias * q.bias * q.bias) + ebb::sum(ebb::cast<float>(thin * thin))).backward();
      o.step();
    };
    for (int i = 0; i < 3; ++i) step(p, narrow, opt);
    if (!through_a_file) {
      for (int i = 0; i < 2; ++i) step(p, narrow, opt);
      return bits_of(p.weight) + bits_of(p.bias) + bits_of(narrow);
    }
    ebb::save_safetensors(path, std::tuple(ebb::with_name("model", p), ebb::with_name("thin", narrow), ebb::with_name("optimizer", opt)));
    dense<variable> q{variable(tensor<float, 2, 3>()), variable(tensor<float, 2>())};
    variable<ebb::bfloat16, 3> thin{tensor<ebb::bfloat16, 3>()};
    ebb::optimizer other(rule, q, thin);
    ebb::load_safetensors(path, std::tuple(ebb::with_name("optimizer", other), ebb::with_name("model", q), ebb::with_name("thin", thin)));
    for (int i = 0; i < 2; ++i) step(q, thin, other);
    CHECK(other.state(0).step == 5);
    return bits_of(q.weight) + bits_of(q.bias) + bits_of(thin);
  };
  CHECK(run(ebb::adam{.lr = 0.1}, true) == run(ebb::adam{.lr = 0.1}, false));
  {
    const ebb::safetensors file(path);
    CHECK(file.load<std::int64_t>("optimizer.state.1.step") == 3);
    CHECK(file.contains("optimizer.state.2.exp_avg_sq"));
    CHECK(file.load<float, 3>("optimizer.state.2.exp_avg")(0) != 0);  // of a bfloat16 parameter, in float
  }
  CHECK(run(ebb::sgd{.lr = 0.1, .momentum = 0.9}, true) == run(ebb::sgd{.lr = 0.1, .momentum = 0.9}, false));
  CHECK(ebb::safetensors(path).contains("optimizer.state.0.momentum_buffer"));
  CHECK(run(ebb::sgd{.lr = 0.1}, true) == run(ebb::sgd{.lr = 0.1}, false));

  // Of other parameters, of another rule, or without one of the states.
  variable<float, 2> p(tensor<float, 2>{1, 2});
  ebb::optimizer adam(ebb::adam{}, p);
  ebb::optimizer momentum(ebb::sgd{.momentum = 0.5}, p);
  const std::int64_t one = 1, minus = -1;
  const float two = 2, half = 0.5;
  const tensor<float, 2> a{1, 2}, b{3, 4};
  const tensor<float, 3> c{1, 2, 3};
  using ebb::with_name;
  const auto problem = [&](auto& opt, const auto&... parts) {
    ebb::save_safetensors(path, std::tie(parts...));
    const std::string text = test::raised([&] { ebb::load_safetensors(path, opt); });
    return text.empty() ? text : text.substr(("ebb::safetensors::load: " + path + ": ").size());
  };
  CHECK(problem(adam, with_name("state.0.step", one), with_name("state.0.exp_avg", a), with_name("state.0.exp_avg_sq", b)) == "");
  CHECK(adam.state(0).step == 1);
  CHECK(problem(adam, with_name("state.0.step", two), with_name("state.0.exp_avg", b), with_name("state.0.exp_avg_sq", a)) == "");
  CHECK(adam.state(0).step == 2);
  CHECK(problem(adam, with_name("state.0.step", half), with_name("state.0.exp_avg", b), with_name("state.0.exp_avg_sq", a)) ==
        "\"state.0.step\" is no number of steps");
  CHECK(problem(adam, with_name("state.0.step", minus)) == "\"state.0.step\" is no number of steps");
  CHECK(problem(adam, with_name("state.0.step", a)) == "\"state.0.step\": expected F64 of shape [], found F32 of shape [2]");
  CHECK(problem(adam, with_name("state.0.exp_avg", a)) == "there is no array called \"state.0.step\"");
  CHECK(problem(adam, with_name("state.0.step", one), with_name("state.0.exp_avg", a)) ==
        "there are 1 states beside \"state.0.step\", another number than the rule keeps");
  CHECK(problem(adam, with_name("state.0.step", one), with_name("state.0.exp_avg", a), with_name("state.0.exp_avg_sq", c)) ==
        "\"state.0.exp_avg_sq\": expected F32 of shape [2], found F32 of shape [3]");
  CHECK(problem(momentum, with_name("state.0.step", one), with_name("state.0.exp_avg", a)) ==
        "nothing in the structure is called \"state.0.exp_avg\"; load_options{.partial = true} leaves it aside");
  CHECK(adam.state(0).step == 2);
  CHECK(test::says(test::raised([&] { adam.set_states({}); }), {"ebb::optimizer::set_states"}));
  CHECK(test::says(test::raised([&] { adam.set_states({{1, {ebb::storage(8)}}}); }), {"ebb::optimizer::set_states"}));
  CHECK(test::says(test::raised([&] { adam.set_states({{1, {ebb::storage(8), ebb::storage(4)}}}); }), {"ebb::optimizer::set_states"}));
}

TEST_CASE("what cannot be saved is refused, and the old file is unchanged") {
  directory dir;
  const std::string path = dir.file("a.safetensors");
  const tensor<float, 2> a{1, 2};
  ebb::save_safetensors(path, ebb::with_name("a", a));
  const std::string before = bytes_of(path);
  using ebb::with_name;
  const auto problem = [&](const auto& x, const ebb::texts_by_name& metadata = {}) {
    const std::string text = test::raised([&] { ebb::save_safetensors(path, x, metadata); });
    CHECK(bytes_of(path) == before);
    CHECK(bytes_of(path + ".part") == "no file");
    return text.empty() ? text : text.substr(("ebb::save_safetensors: " + path + ": ").size());
  };
  CHECK(problem(a) == "an array that is no member of a structure has no name: give ebb::with_name(\"name\", array)");
  CHECK(problem(with_name("\xff", a)) == "a name is UTF-8, \"\xff\" is not");
  CHECK(problem(with_name("__metadata__", a)) == "no array can be called __metadata__");
  CHECK(problem(std::tuple(with_name("b", a), with_name("b", a))) == "two arrays are called \"b\"");
  CHECK(problem(with_name("v", variable<float, 2>())) == "\"v\" is undefined");
  CHECK(problem(with_name("a", a), {{"\xc0\x80", ""}}) == "metadata is UTF-8, that of \"\xc0\x80\" is not");

  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit small{1000, limit.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);  // has the effect of a full disk
  const std::string text = problem(with_name("a", tensor<float, 10000>()));
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, handler);
  CHECK(text == "File too large");
  CHECK(test::raised([&] { ebb::save_safetensors(dir.path + "/none/a", with_name("a", a)); }) ==
        "ebb::save_safetensors: " + dir.path + "/none/a: No such file or directory");
}

TEST_CASE("a file is replaced while it is mapped: the views keep the old elements") {
  directory dir;
  const std::string path = dir.file("a.safetensors");
  ebb::save_safetensors(path, ebb::with_name("a", tensor<float, 2>{1, 2}));
  const ebb::safetensors old(path);
  const auto view = old.view<float, 2>("a");
  ebb::save_safetensors(path, ebb::with_name("a", tensor<float, 2>{3, 4}));
  CHECK(view(1) == 2);
  CHECK(ebb::safetensors(path).view<float, 2>("a")(1) == 4);
  CHECK(test::raised([&] { ebb::safetensors(dir.path + "/none"); }) ==
        "ebb::safetensors: " + dir.path + "/none: No such file or directory");
  CHECK(test::raised([&] { ebb::safetensors{dir.path}; }) == "ebb::safetensors: " + dir.path + ": expected a plain file");
}
