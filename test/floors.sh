#!/usr/bin/env bash
# test/floors.sh — checks the order of the floors and the house rules for headers: prints file:line of each violation.
# SPDX-License-Identifier: BSL-1.0
set -uo pipefail
cd "${1:-.}" && export LC_ALL=C.UTF-8

# The floors directly below each floor. A floor may include its own folder and every folder that can be reached downwards from here.
declare -A below=(
  [base]='' [num]='base' [tensor]='num' [random]='tensor'
  [graph]='tensor' [op]='graph kernel random' [trace]='op' [io]='trace' [pass]='op' [plan]='pass' [kernel]='tensor'
  [autocast]='trace plan' [exec]='autocast plan'
  [autograd]='exec' [hooks]='autograd' [train]='hooks io' [capture]='autograd'
)
# Floors that ebb.hpp leaves out: MPI is another library, and few programs call what the other floors have.
declare -A optional=([complex]='trace shapes' [dual]='exec' [explain]='exec' [mpi]='train random' [svg]='capture' [interop]='tensor' [linalg]='op' [order]='op' [reductions]='op' [nn]='pass random trace shapes' [profile]='svg' [shapes]='op' [special]='op' [stats]='special linalg random' [geometry]='shapes' [solvers]='exec linalg' [sparse]='exec')
for floor in "${!optional[@]}"; do below[$floor]=${optional[$floor]}; done
reach() { local floor; for floor in ${below[$1]}; do printf '%s|' "$floor"; reach "$floor"; done; }
rule() { sed "s~\$~   <- $1~"; }  # appends the broken rule to each line read

check() {
  local folder allowed
  for folder in include/ebb/*/; do
    folder=$(basename "$folder")
    [ -n "${below[$folder]+known}" ] || { echo "include/ebb/$folder" | rule 'a floor that test/floors.sh does not know'; continue; }
    allowed=$folder'|'$(reach "$folder")
    grep -rnE '^ *# *include *"' "include/ebb/$folder" |
      grep -vE "\"((\.\./(${allowed%|})/)?[a-z0-9_]+|\.\./version)\.hpp\"" | rule "$folder includes only itself and the floors below it"
  done
  for folder in "${!below[@]}"; do
    grep -qF "| \`$folder\` |" include/ebb/README.md || echo "include/ebb/$folder" | rule 'include/ebb/README.md says what a folder contains'
  done
  grep -rnE '^ *# *include *<(ebb|\.)' include | rule 'includes inside the library are relative'
  grep -rnE '^ *# *include *[<"]xsimd' include | grep -v '^include/ebb/kernel/batch.hpp:' | rule 'xsimd enters through kernel/batch.hpp only'
  grep -rnE '^ *# *(if|ifdef|ifndef|elif).*__(SSE|AVX|FMA|F16C|FP_FAST|ARM|aarch64|x86_64|wasm)' include |
    grep -vE '^include/ebb/(base/(config|instruction|target)|kernel/(batch|instructions|under_mask))\.hpp:' | rule 'instruction sets are constants in base/target.hpp'
  # CA-20: including ebb brings in no other library that the user did not ask for.
  grep -rnE '^ *# *include *<mpi\.h>' include | grep -v '^include/ebb/mpi/communicator.hpp:' | rule 'MPI enters through mpi/communicator.hpp only'
  grep -rnE '^ *# *include *<(cblas|lapacke)\.h>' include | grep -v '^include/ebb/kernel/lapack.hpp:' | rule 'LAPACK enters through kernel/lapack.hpp only'
  local others='[a-z_]+|sys/(single_threaded|stat|mman)\.h|sched\.h|fcntl\.h|unistd\.h|io\.h|boost/mp11/[a-z_/]+\.hpp|boost/hana/[a-z_/]+\.hpp|xsimd/xsimd\.hpp'
  grep -rnE '^ *# *include *<' include | grep -vE "<($others|mpi\.h|cblas\.h|lapacke\.h)>" |
    rule 'of others only the standard library, single headers of Mp11 and Hana, and xsimd'
  grep -rnE '^ *# *(define|undef)' include | grep -vE '^include/ebb/(base/config|version)\.hpp:' | rule 'macros are defined in base/config.hpp only'
  grep -rnE '^ *# *define' include | grep -vE '# *define EBB_' | rule 'macros are called EBB_*'
  grep -rnE 'using namespace' include | rule 'no using namespace in headers'
  grep -rnE '.{141,}' include examples test bench --include='*.?pp' | grep -vE '// (LINE|EXPECT: .*)$' | cut -c1-100 | rule 'at most 140 columns'
  git ls-files '*.md' 2>/dev/null | xargs -r awk '
    FNR == 1 { code = 0 }
    /^ *```/ { code = !code }
    !code && length($0) > 140 && !/^\|/ { print FILENAME ":" FNR }' | rule 'at most 140 columns, except code and tables'
  find include -name '*.hpp' | xargs awk '/^ *EBB_(ONCE|COLD).*{$/ && before ~ /^ *(template <|requires)/ { print FILENAME ":" FNR } { before = $0 }' |
    rule 'a template is not in the library ebb::compiled: neither EBB_ONCE nor EBB_COLD'
  local floor outside=()
  for floor in "${!optional[@]}"; do grep -qE "\"$floor(\.hpp|/)" include/ebb/compiled.cpp || outside+=("include/ebb/$floor"); done
  grep -rnE '^ *(\[\[.*\]\] )?EBB_(ONCE|COLD)' "${outside[@]}" | rule 'compiled.cpp has to include a header with EBB_ONCE or EBB_COLD'
  grep -rnE --exclude-dir=data --exclude-dir=golden --exclude-dir=approved \
    "([.;:]|^ *(//+|#))( +)(What|Who|Where|Whoever|Whatever|That which) [a-z]|^(What|Who|Where|Whoever|Whatever) [a-z]|^// .* — (what|who|where|how|which|in which|under which|why) |\\b(by now|of one's own)\\b" \
    include test bench examples .github CMakeLists.txt README.md CONTRIBUTING.md CHANGELOG.md | grep -v '^test/floors.sh:' |
    rule 'a sentence begins with its subject and says it plainly'
  find include -name '*.hpp' | xargs awk '
    function finish() {
      if (!once) print file ":3   <- has #pragma once"
      if (lines > 400) print file ":" lines "   <- at most 400 lines"
    }
    FNR == 1 {
      if (file != "") finish()
      file = FILENAME; once = 0; begin = file; sub("^include/", "", begin); begin = "// " begin " — "
      if (substr($0, 1, length(begin)) != begin || $0 !~ /[.;:?!]$/) print file ":1   <- begins with " begin "one sentence."
    }
    FNR == 2 && $0 != "// SPDX-License-Identifier: BSL-1.0" { print file ":2   <- names the licence in line 2" }
    $0 == "#pragma once" { once = 1 }
    { lines = FNR }
    END { finish() }'

  # ebb.hpp includes a header for each folder, which includes all of that folder; functional.hpp leaves out those of the tape.
  # Weights are left out of both: programs that read none need not compile them.
  local apart='io/(inflate|mapped_file|names|npz|safetensors|safetensors_file|safetensors_header|stored_elements)\.hpp'
  for floor in "${!below[@]}"; do
    diff <(cd include/ebb && ls "$floor"/*.hpp | grep -vxE "$apart") <(sed -nE 's/^#include "(.*\/.*)"$/\1/p' "include/ebb/$floor.hpp" | sort) | grep '^[<>]' |
      rule "ebb/$floor.hpp includes each header of its folder"
  done
  # Calls of its functions need functional.hpp: so a program may include the header of a family alone.
  for floor in "${!optional[@]}"; do
    [[ $floor =~ ^(mpi|svg|interop|profile)$ ]] || grep -q '^#include "functional.hpp"$' "include/ebb/$floor.hpp" || echo "include/ebb/$floor.hpp"
  done | rule 'the header of an optional folder includes functional.hpp'
  # There it comes after all headers of its folder that it includes: so there are no circles.
  for floor in "${!below[@]}"; do
    sed -nE 's/^#include "(.*\/.*)"$/include\/ebb\/\1/p' "include/ebb/$floor.hpp" | xargs awk '
      FNR == 1 { above[file] = 1; file = FILENAME; sub(".*/", "", file) }
      /^#include "[a-z0-9_]+\.hpp"/ { split($0, part, "\""); if (!(part[2] in above)) print FILENAME ":" FNR }'
  done | rule 'is after the headers that it includes in the list of its folder'
  diff <(printf '%s.hpp\n' "${!below[@]}" version | grep -vxF "$(printf '%s.hpp\n' "${!optional[@]}")" | sort) <(sed -nE 's/^#include "(.*)"$/\1/p' include/ebb/ebb.hpp | sort) | grep '^[<>]' |
    rule 'ebb.hpp includes a header for each folder'
  diff <(grep '^#include' include/ebb/ebb.hpp | grep -vE '"(autograd|hooks|train|capture)') <(grep '^#include' include/ebb/functional.hpp) |
    grep '^[<>]' | rule 'functional.hpp includes what ebb.hpp does, except the tape'

  # Each header has a test of its name, or is named by tests of a group: `// covers: name.hpp folder/name.hpp`. So is what other tests test.
  local headers covers
  headers=$(cd include/ebb && printf '%s\n' */*.hpp | sort)
  covers=$(cd test && grep -E '^// covers: ' */*.cpp | awk -F: '{ folder = $1; sub("/.*", "/", folder); count = split($3, name, " ")
    for (i = 1; i <= count; ++i) print (name[i] ~ "/" ? "" : folder) name[i], "test/" $1 }' | sort)
  join -v 1 <(echo "$headers") <({ cut -d' ' -f1 <<<"$covers"; cd test && printf '%s\n' */*.cpp | sed -E 's/(\.static|\.fail)?\.cpp$/.hpp/'; } | sort -u) |
    sed 's~^~include/ebb/~' | rule 'no test has its name, and none names it in a line `// covers: `'
  join -v 2 <(echo "$headers") <(echo "$covers") | rule 'covers a header that does not exist'
  join -v 2 <(echo "$headers") <(cd test && printf '%s\n' */*.cpp | sed -E 's~(.*/[^.]*)(\.[a-z]+)?\.cpp$~\1.hpp test/&~' |
    grep -E "^($(printf '%s|' "${!below[@]}")-)/" | sort) | while read -r _ header; do grep -q '^// covers: ' "$header" || echo "$header"; done |
    rule 'a test has the name of a header, or names headers in a line `// covers: `'

  # A note is defined by a comment line that holds nothing else, `// [note: name]`, and cited as `see [note: name]`.
  local definition='^ *//+ *\[note: [^]]+\] *$' notes
  notes=$(grep -rhE "$definition" include | grep -oE '\[note: [^]]+\]' | sort)
  uniq -d <<<"$notes" | while IFS= read -r line; do grep -rnF -- "$line" include | grep -v 'see \['; done | rule 'a note is written once'
  grep -rnoE '\[note: [^]]+\]' include test examples bench README.md CONTRIBUTING.md --include='*.?pp' --include='*.md' |
    notes=$notes awk 'BEGIN { count = split(ENVIRON["notes"], note, "\n"); for (i = 1; i <= count; ++i) known[note[i]] = 1 }
      { cited = $0; sub(/^[^:]*:[^:]*:/, "", cited); if (!(cited in known)) print }' | rule 'a note that nobody wrote'
}

problems=$(check)
[ -z "$problems" ] && echo "$(find include -name '*.hpp' | wc -l) headers keep the order of the floors" && exit
printf '%s\n' "$problems"
exit 1
