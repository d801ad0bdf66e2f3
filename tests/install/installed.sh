#!/usr/bin/env bash
# Installs a build into a temporary folder, moves it, and uses it as someone else would who has neither the build nor the
# Kokkos that it was linked to: runs the program from another folder, builds a project with a layer of its own, and each
# plugin of plugins/ as its author would.
#
# Usage: tests/install/installed.sh BUILD KOKKOS, the build's folder and its Kokkos' prefix; KOKKOS is empty where it is
# not installed along. As root the user is `nobody`, and both folders are out of sight where the system lets them be.
set -euo pipefail
build=$1 kokkos=$2
source=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)

fail() {
  echo "install: $*" >&2
  exit 1
}

# The second call of this script, in a namespace of its own: nothing is where it was when the program was linked.
if [[ ${3:-} == hide ]]; then
  for folder in "$build" ${kokkos:+"$kokkos"}; do mount -t tmpfs none "$folder"; done
  shift 3
  exec "$@"
fi

hidden=()
as_user=()
if [[ $EUID -eq 0 ]]; then
  as_user=(setpriv --reuid nobody --regid nogroup --clear-groups)
  if unshare --mount true 2>/dev/null; then
    hidden=(unshare --mount "$source/installed.sh" "$build" "$kokkos" hide)
  fi
fi

# elsewhere COMMAND...: as that user, in a folder of theirs, with little else in the environment.
elsewhere() {
  (cd "$folder/home" && "${hidden[@]}" "${as_user[@]}" env -i "PATH=$PATH" "HOME=$folder/home" "TMPDIR=$folder/home" \
    OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive ${CXX:+"CXX=$CXX"} ${LD_LIBRARY_PATH:+"LD_LIBRARY_PATH=$LD_LIBRARY_PATH"} \
    "$@")
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
mkdir "$folder/home"
[[ $EUID -ne 0 ]] || chown nobody "$folder/home"
umask 022

cmake --install "$build" --prefix "$folder/first" >/dev/null
mv "$folder/first" "$folder/moved here"
installed="$folder/moved here"

# Nothing that was installed knows where it was built.
traces=$(grep -rlF -e "$build" ${kokkos:+-e "$kokkos"} "$installed" || true)
[[ -z $traces ]] || fail "the build's folder or its Kokkos' is named in $traces"

# Where each library is found, once the folders are out of sight.
libraries=$(elsewhere ldd "$installed/bin/ridgeline")
! grep -F -e "$build" -e 'not found' ${kokkos:+-e "$kokkos"} <<<"$libraries" || fail "a library is not the installed one"
[[ -z $kokkos ]] || grep -qF "$installed/" <<<"$(grep libkokkoscore <<<"$libraries")" || fail "whose Kokkos is that?"

deck=$installed/share/ridgeline/inputs/sine.ini
short=(--set data.functions=4 --set train.epochs=1 --set model.width=8 --set model.blocks=1
  --set attention.functional.heads=2 --set attention.functional.basis=3)
elsewhere "$installed/bin/ridgeline" run "$deck" -o mine "${short[@]}" --quiet
[[ -s $folder/home/mine/report.html ]] || fail "the installed program left no report"

# build NAME: the project in the folder NAME, into NAME/build.
build() {
  {
    elsewhere cmake -S "$1" -B "$1/build" "-DCMAKE_PREFIX_PATH=$installed" -DCMAKE_BUILD_TYPE=Release &&
      elsewhere cmake --build "$1/build"
  } >"$folder/$1.log" 2>&1 || { cat "$folder/$1.log" >&2; fail "$1 could not be built"; }
}

cp -r "$source/outside" "$source"/../../plugins/* "$folder/home"
[[ $EUID -ne 0 ]] || chown -R nobody "$folder/home"
mapfile -t plugins < <(cd "$source/../../plugins" && ls)
jobs=()
for name in outside "${plugins[@]}"; do
  build "$name" &
  jobs+=($!)
done
for job in "${jobs[@]}"; do wait "$job"; done

elsewhere outside/build/outside run "$deck" -o theirs "${short[@]}" --set model.ffn=straight --quiet
grep -q 'ffn *= *straight' "$folder/home/theirs/deck.ini" || fail "the outside layer was not run"

options=()
for name in "${plugins[@]}"; do options+=(--plugin "$name/build/$name.so"); done
elsewhere "$installed/bin/ridgeline" run "$deck" -o plugins "${short[@]}" --quiet "${options[@]}" \
  --set model.ffn=swiglu --set model.encoder=fourier --set model.attention=physics
elsewhere "$installed/bin/ridgeline" run "$deck" -o galerkin "${short[@]}" --quiet "${options[@]}" \
  --set model.attention=galerkin
for name in swiglu fourier physics; do
  grep -q "= *$name\$" "$folder/home/plugins/deck.ini" || fail "$name was not run"
done
[[ -s $folder/home/galerkin/report.html ]] || fail "galerkin left no report"
for layer in ffn/swiglu encoder/fourier attention/galerkin attention/physics; do
  conformance=$(elsewhere "$installed/bin/ridgeline" conform "$layer" "${options[@]}") || fail "$conformance"
done
