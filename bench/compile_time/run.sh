#!/usr/bin/env bash
# bench/compile_time/run.sh — compile times of generated programs of 16 to 1024 equations, of the umbrella header, and of the whole programs
# in programs/.
# SPDX-License-Identifier: BSL-1.0
#
#   bash bench/compile_time/run.sh [compiler...]       all of g++, clang++-16, clang++-19 that are installed
#   bash bench/compile_time/run.sh --smoke             the first of them, small programs, -O2 only, no tape; fails if one does not compile
#
# EBB_REPEAT=3 takes the smallest of three runs. Seconds are user time. The exponent of growth is computed from the last two sizes: once
# without the time of the header, and once without the time of the smallest program, which instantiates everything that all sizes share.
# Programs include the header they need, <ebb/functional.hpp>: the tape takes a second more.
set -euo pipefail
cd "$(dirname "$0")/../.."

flags=("-O2" "-O0 -g" "-O2 -g")
regions=1                # whether programs on the tape are compiled too: three times ten seconds
chains=(1 4 18 73 358)   # levels that make about 16, 64, 256, 1024, 5000 equations
dags=(4 24 137 505 2500) # operations
nets=(transformer "lstm -DLAYERS=4" "lstm -DLAYERS=6" "cart_pole -DSTEPS=15" "leaves -DLEAVES=300")
if [ "${1:-}" = --smoke ]; then
  shift
  flags=("-O2")
  chains=(1 4)
  dags=(4 24)
  nets=("cart_pole -DSTEPS=2")
  regions=
  [ $# -gt 0 ] || set -- "${CXX:-g++}"
fi
compilers=()
for compiler in "${@:-}"; do [ -z "$compiler" ] || compilers+=("$compiler"); done
if [ ${#compilers[@]} -eq 0 ]; then
  for compiler in g++ clang++-16 clang++-19; do
    if command -v "$compiler" >/dev/null; then compilers+=("$compiler"); fi
  done
fi
if [ ! -x /usr/bin/time ] && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
  { apt-get install -y time || { apt-get update && apt-get install -y time; }; } >/dev/null 2>&1 || true
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
standard=(-std=c++20 -march=native -ffp-contract=off -Iinclude)
# clang's limits are too low for the largest of these programs; ebb's CMake target raises them and those of g++.
raised() { case $("$1" --version) in *clang*) echo -fconstexpr-steps=2147483647 -fbracket-depth=4096 ;; esac; }

# The measured programs. Each level of a chain uses its input three times; an operation of a graph takes any two of eight live values.
cat >"$work/chain.txt" <<'SOURCE'
constexpr auto f = [](auto x, auto w) {
  auto h = x;
  for (int i = 0; i < SIZE; ++i) h = ebb::tanh(h * w + h) * h;
  return ebb::sum(h);
};
SOURCE
cat >"$work/dag.txt" <<'SOURCE'
constexpr auto f = [](auto x, auto w) {
  decltype(x) h[] = {x, w, x, w, x, w, x, w};
  unsigned r = 12345;
  for (int i = 0; i < SIZE; ++i) {
    r = r * 1664525u + 1013904223u;
    auto a = h[(r >> 12) % 8], b = h[(r >> 16) % 8];
    auto& to = h[(r >> 8) % 8];
    switch ((r >> 20) % 6) {
      case 0: to = ebb::tanh(a); break;
      case 1:
      case 2: to = a * b; break;
      case 3: to = a - b; break;
      default: to = a + b * 0.5;
    }
  }
  auto s = h[0];
  for (int i = 1; i < 8; ++i) s = s + h[i];
  return ebb::sum(s);
};
SOURCE
cat >"$work/main.txt" <<'SOURCE'
using term = ebb::term<float, ebb::dyn>;
using program = ebb::detail::value_and_grad_spec<std::remove_const_t<decltype(f)>, 0, 1>::program<term, term>;
int main() {
  ebb::tensor<float, ebb::dyn> x = ebb::tensor<float, ebb::dyn>::full(0.1f, 100), w = x, dx = x, dw = x;
  float value = 0;
  ebb::value_and_grad<0, 1>(f)(ebb::into(value, dx, dw), x, w);
  std::printf("%d %d\n", program::g.size(), value == value && dx(0) != x(0));
}
SOURCE
for kind in chain dag; do
  { printf '#include <ebb/functional.hpp>\n#include <cstdio>\n'; cat "$work/$kind.txt" "$work/main.txt"; } >"$work/$kind.cpp"
done
printf '#include <ebb/ebb.hpp>\n' >"$work/umbrella.cpp"
printf '#include <ebb/functional.hpp>\n' >"$work/functional.cpp"
cat >"$work/tape.cpp" <<'SOURCE'
#include <ebb/ebb.hpp>
constexpr auto loss = ebb::compile([](auto x, auto w) { return ebb::sum(ebb::tanh(x * w) * x); });
void descend(const ebb::tensor<float, ebb::dyn>& x, ebb::variable<float, ebb::dyn>& w) { loss(x, w).backward(GRAPH); }
#ifdef TWO
constexpr auto other = ebb::compile([](auto x, auto w) { return ebb::sum(ebb::exp(x * w) - x); });
void descend_other(const ebb::tensor<float, ebb::dyn>& x, ebb::variable<float, ebb::dyn>& w) { other(x, w).backward(); }
#endif
SOURCE
# The headers of others that the umbrella header includes here: those that this system has not are for other systems.
"${compilers[0]}" "${standard[@]}" -MM -MT '' "$work/umbrella.cpp" | tr ' \\' '\n\n' | grep '/ebb/' | xargs grep -hoE '^#include <[^>]+>' | sort -u |
  sed -E 's/^#include (<.*>)$/#if __has_include(\1)\n&\n#endif/' >"$work/third_party.cpp"

seconds= megabytes=
compile() {  # compile compiler source output flags...: sets seconds and megabytes
  local run s m
  seconds=
  for ((run = 0; run < ${EBB_REPEAT:-1}; ++run)); do
    if [ -x /usr/bin/time ]; then
      /usr/bin/time -o "$work/time" -f '%U %M' "$1" "${standard[@]}" "${@:4}" -c "$work/$2.cpp" -o "$3"
      read -r s m <"$work/time"
      m=$((m / 1024))
    else
      TIMEFORMAT=%U
      { time "$1" "${standard[@]}" "${@:4}" -c "$work/$2.cpp" -o "$3" 2>&3; } 3>&2 2>"$work/time"
      read -r s <"$work/time"
      m=-
    fi
    if [ -z "$seconds" ] || awk "BEGIN { exit !($s < $seconds) }"; then seconds=$s megabytes=$m; fi
  done
}

for compiler in "${compilers[@]}"; do
  printf '\n%s\n' "$("$compiler" --version | head -n 1)"
  for flag in "${flags[@]}"; do
    read -ra options <<<"$flag $(raised "$compiler")"
    compile "$compiler" third_party "$work/out.o" "${options[@]}"
    third=$seconds
    compile "$compiler" umbrella "$work/out.o" "${options[@]}"
    umbrella=$seconds
    compile "$compiler" functional "$work/out.o" "${options[@]}"
    header=$seconds
    awk -v flag="$flag" -v t="$third" -v h="$umbrella" -v f="$header" \
      'BEGIN { printf "%-7s umbrella header %.2f s, %.2f s more than the headers of others that it includes; without the tape %.2f s more\n", flag, h, h - t, f - t }'
    if [ -n "$regions" ]; then
      compile "$compiler" tape "$work/out.o" "${options[@]}" -DGRAPH=
      plain=$seconds
      compile "$compiler" tape "$work/out.o" "${options[@]}" -DGRAPH= -DTWO
      two=$seconds
      compile "$compiler" tape "$work/out.o" "${options[@]}" '-DGRAPH={.create_graph=true}'
      awk -v h="$umbrella" -v p="$plain" -v t="$two" -v g="$seconds" \
        'BEGIN { printf "%-7s one region and its backward: %.2f s more than that, a second one %.2f s, a graph of the backward %.2f s\n", "", p - h, t - p, g - p }'
    fi
    for program in "${nets[@]}"; do
      read -ra given <<<"$program"
      cp "bench/compile_time/programs/${given[0]}.cpp" "$work"
      compile "$compiler" "${given[0]}" "$work/out.o" "${options[@]}" "${given[@]:1}"
      "$compiler" "${options[@]}" "$work/out.o" -o "$work/out"
      read -r _ right < <("$work/out")
      [ "$right" = 1 ] || { echo "$program gives nonsense" >&2; exit 1; }
      printf '%-7s %-22s %8.2f s %6s MB\n' "" "$program" "$seconds" "$megabytes"
    done
    if [ -n "$regions" ]; then  # whole programs: with headers alone, and with ebb::compiled
      for program in region gru; do
        cp bench/compile_time/programs/$program.cpp "$work"
        compile "$compiler" $program "$work/out.o" "${options[@]}"
        alone="$seconds s, $(nm "$work/out.o" | grep -c ' [tTwW] ') functions"
        compile "$compiler" $program "$work/out.o" "${options[@]}" -DEBB_COMPILED
        printf '%-7s %-6s with headers alone %s; with ebb::compiled %s s, %d functions\n' "" $program "$alone" "$seconds" \
          "$(nm "$work/out.o" | grep -c ' [tTwW] ')"
      done
    fi
    printf '%-7s %-6s %9s %8s %6s %9s %7s\n' "" program equations seconds MB object-KB symbol
    for kind in chain dag; do
      if [ $kind = chain ]; then sizes=("${chains[@]}"); else sizes=("${dags[@]}"); fi
      : >"$work/times"
      for size in "${sizes[@]}"; do
        compile "$compiler" $kind "$work/out.o" "${options[@]}" -DSIZE="$size"
        "$compiler" "${options[@]}" "$work/out.o" -o "$work/out"
        read -r equations right < <("$work/out")
        [ "$right" = 1 ] || { echo "the program of $size gives nonsense" >&2; exit 1; }
        symbol=$(nm "$work/out.o" | awk 'length($NF) > n { n = length($NF) } END { print n }')
        printf '%-7s %-6s %9d %8.2f %6s %9d %7d\n' "" $kind "$equations" "$seconds" "$megabytes" $(($(stat -c %s "$work/out.o") / 1024)) "$symbol"
        echo "$equations $seconds" >>"$work/times"
      done
      awk -v header="$header" 'NR == 1 { least = $2 } NR > 2 { n0 = n; t0 = t } { n = $1; t = $2 }
        END { if (NR > 3 && t0 > least) printf "%-7s %-6s exponent %.2f above the header, %.2f above the smallest\n", "", "",
          log((t - header) / (t0 - header)) / log(n / n0), log((t - least) / (t0 - least)) / log(n / n0) }' "$work/times"
    done
  done
done
