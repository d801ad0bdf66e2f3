#!/usr/bin/env bash
# The deb-src lists that bootstrap derives from a machine's own lists, old style and new.
set -euo pipefail
export LC_ALL=C
# shellcheck source=bootstrap
source "$(dirname "${BASH_SOURCE[0]}")/../../bootstrap"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
suites=$(suites_of bookworm)
failures=0

# expect WHAT COMMAND...: compares the output of COMMAND with standard input.
expect() {
  local what=$1
  shift
  if diff <(cat) <("$@"); then
    echo "passed: $what"
  else
    echo "FAILED: $what"
    failures=$((failures + 1))
  fi
}

cat >"$folder/old.list" <<'EOF'
# deb http://mirror.invalid/debian bookworm main
deb cdrom:[Debian GNU/Linux 12]/ bookworm main
deb [arch=amd64 signed-by=/usr/share/keyrings/a.gpg] http://mirror.invalid/debian bookworm main contrib # comment
deb	http://mirror.invalid/debian bookworm-updates main
deb-src http://mirror.invalid/debian bookworm-updates main
deb http://mirror.invalid/debian-security bookworm-security contrib main
deb https://third.invalid/apt bookworm stable
deb https://third.invalid/apt bookworm-pgdg main
deb https://third.invalid/flat ./
deb http://mirror.invalid/debian trixie main
EOF
expect "old style" source_lines "$suites" "$folder/old.list" <<'EOF'
deb-src [arch=amd64 signed-by=/usr/share/keyrings/a.gpg] http://mirror.invalid/debian bookworm main
deb-src http://mirror.invalid/debian bookworm-updates main
deb-src http://mirror.invalid/debian-security bookworm-security main
EOF

cat >"$folder/a.sources" <<'EOF'
Types: deb deb-src
URIs: http://mirror.invalid/debian
# a comment inside
Suites: bookworm bookworm-updates trixie
Components: main non-free-firmware
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mQINBF
 -----END PGP PUBLIC KEY BLOCK-----

Types: deb
URIs: https://third.invalid/node
Suites: nodistro
Components: main

Enabled: no
Types: deb
URIs: http://disabled.invalid/debian
Suites: bookworm
Components: main
EOF
printf 'types: deb\nURIs: http://b.invalid\nsuites: bookworm\ncomponents: main' >"$folder/b.sources" # no last newline
# shellcheck disable=SC2317 # called through expect
sorted_stanzas() { source_stanzas "$@" | sort; }
expect "new style" sorted_stanzas "$suites" "$folder/a.sources" "$folder/b.sources" <<'EOF'


 -----BEGIN PGP PUBLIC KEY BLOCK-----
 -----END PGP PUBLIC KEY BLOCK-----
 .
 mQINBF
components: main
components: main
signed-by:
suites: bookworm
suites: bookworm bookworm-updates
types: deb-src
types: deb-src
uris: http://b.invalid
uris: http://mirror.invalid/debian
EOF
expect "no lists at all" source_lines "$suites" </dev/null

exit $((failures > 0))
