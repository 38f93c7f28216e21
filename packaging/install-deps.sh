#!/usr/bin/env bash
# Installs what building and checking deepinferd on Debian 12 needs. Safe to run again: what is there is
# left alone, and a machine that has everything is done within a second.
#
#   bash packaging/install-deps.sh                 what a build needs
#   bash packaging/install-deps.sh --with-checks   and clang's formatter and linter, systemd's checks
#   bash packaging/install-deps.sh --with-cuda     and a CUDA 13.0 compiler, from Python wheels
#
# Needs root or sudo, for apt only. Messages go to standard error. With --with-cuda the one line on
# standard output is the path of nvcc. Exit codes: 0 done, 2 wrong usage or something could not be
# installed.
set -euo pipefail

readonly build_packages=(
  build-essential ca-certificates capnproto ccache cmake git libboost1.81-dev libcapnp-dev
  libcli11-dev libgmock-dev libgtest-dev libhwy-dev libspdlog-dev libssl-dev libtomlplusplus-dev
  libuv1-dev ninja-build nlohmann-json3-dev pkg-config python3 python3-venv zlib1g-dev
)
readonly check_packages=(clang-14 clang-format-14 clang-tidy-14 libclang-rt-14-dev systemd)
# Debian's own cargo is too old for the Rust library; these follow the current compiler.
readonly rust_packages=(cargo-web rustc-web)
readonly rust_minimum=1.87

# One CUDA toolkit, by exact versions, so that every machine compiles the same device code.
readonly cuda_version=13.0
readonly cuda_wheels=(
  nvidia-cuda-nvcc==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-crt==13.0.88
  nvidia-cuda-cccl==13.0.85 nvidia-cuda-runtime==13.0.96
)

say() { echo "install-deps: $*" >&2; }

# fail WHAT WHERE HOW_TO_MEND
fail() {
  echo "install-deps: error: $1 ($2): $3" >&2
  exit 2
}

usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; }

# Runs a command that talks to the network up to three times.
retry() {
  local attempt
  for attempt in 1 2 3; do
    if "$@" >&2; then return 0; fi
    if [ "$attempt" -lt 3 ]; then
      say "that failed (attempt $attempt of 3), again in $((attempt * 5)) seconds"
      sleep $((attempt * 5))
    fi
  done
  return 1
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# Prints those of the named Debian packages that are not installed.
missing_packages() {
  local installed
  installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
    sed -n 's/^installed //p') || true
  local package
  for package in "$@"; do
    grep -qxF "$package" <<<"$installed" || echo "$package"
  done
}

apt_get() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -y -o Acquire::Retries=3 \
    -o DPkg::Lock::Timeout=300 "$@" </dev/null
}

install_packages() {
  local missing
  mapfile -t missing < <(missing_packages "$@")
  if [ "${#missing[@]}" -eq 0 ]; then return 0; fi

  if ! command -v apt-get >/dev/null; then
    fail "no apt-get" "needed for ${missing[*]}" "install these packages' equivalents by hand; Debian 12 is what we build on"
  fi
  if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
    fail "not root, and no sudo" "needed for ${missing[*]}" "run as root: apt-get install ${missing[*]}"
  fi
  say "installing with apt: ${missing[*]}"
  retry apt_get update || fail "apt-get update failed three times" "see above" "check the network and /etc/apt/sources.list"
  retry apt_get install --no-install-recommends "${missing[@]}" ||
    fail "apt-get install failed three times" "${missing[*]}" "see apt's own message above"
}

# Whether the cargo on PATH is new enough.
has_rust() {
  local version
  version=$(cargo --version 2>/dev/null | awk '{print $2}') || return 1
  [ -n "$version" ] &&
    [ "$(printf '%s\n%s\n' "$rust_minimum" "$version" | sort -V | head -n 1)" = "$rust_minimum" ]
}

install_rust() {
  if has_rust; then return 0; fi
  install_packages "${rust_packages[@]}"
  hash -r
  has_rust || fail "cargo is older than $rust_minimum" "$(command -v cargo || echo 'no cargo on PATH')" \
    "take it from Debian's security archive (packages ${rust_packages[*]}), or put a newer one first on PATH"
}

# The wheels leave out what a linker and CMake look for: lib64, and library names without a version.
complete_toolkit() {
  local root=$1 library
  [ -e "$root/lib64" ] || ln -s lib "$root/lib64"
  for library in "$root"/lib/*.so.*; do
    [ -e "${library%.so.*}.so" ] || ln -s "$(basename "$library")" "${library%.so.*}.so"
  done
}

install_cuda() {
  local folder=${XDG_CACHE_HOME:-$HOME/.cache}/deepinfer/cuda-$cuda_version
  local complete="$folder/complete" nvcc
  if [ "$(cat "$complete" 2>/dev/null)" != "${cuda_wheels[*]}" ]; then
    say "installing the CUDA $cuda_version compiler into $folder (about 105 MB to fetch)"
    rm -rf "$folder"
    mkdir -p "$folder"
    # Debian's Python: its version is known, whatever else is first on PATH.
    /usr/bin/python3 -m venv "$folder" ||
      fail "no Python environment" "$folder" "install python3-venv"
    retry "$folder/bin/python" -m pip install --disable-pip-version-check --no-deps \
      --only-binary :all: "${cuda_wheels[@]}" ||
      fail "pip failed three times" "${cuda_wheels[*]}" "check the network and pip's settings"
    complete_toolkit "$(echo "$folder"/lib/python3*/site-packages/nvidia/cu13)"
    echo "${cuda_wheels[*]}" >"$complete"
  fi
  nvcc=$(echo "$folder"/lib/python3*/site-packages/nvidia/cu13/bin/nvcc)
  "$nvcc" --version >/dev/null || fail "nvcc does not run" "$nvcc" "remove $folder and run this again"
  echo "$nvcc"
}

with_checks=no
with_cuda=no
for argument in "$@"; do
  case $argument in
    --with-checks) with_checks=yes ;;
    --with-cuda) with_cuda=yes ;;
    -h | --help)
      usage
      exit 0
      ;;
    *) fail "unknown argument $argument" "command line" "see --help" ;;
  esac
done

packages=("${build_packages[@]}")
if [ "$with_checks" = yes ]; then packages+=("${check_packages[@]}"); fi
install_packages "${packages[@]}"
install_rust
if [ "$with_cuda" = yes ]; then install_cuda; fi
say "everything is there"
