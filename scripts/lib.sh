# What the scripts share: the packages that Dunlin needs, and how it is built. Sourced from the
# repository's top folder.

# Build and test packages of Debian 12; of names with | between them any will do, and the first is
# installed. They drive out no package that a user may have: any Boost will do.
packages=(
  g++ cmake ninja-build ccache mold python3
  'libboost-dev|libboost1.81-dev' libssl-dev libprotobuf-dev protobuf-compiler libabsl-dev libfmt-dev
  nlohmann-json3-dev libcli11-dev libtomlplusplus-dev libgtest-dev librapidcheck-dev
  libpq-dev libcurl4-openssl-dev librabbitmq-dev libre2-dev libpugixml-dev
)
# Programs of others that speak with the AWS-compatible door, as Debian has them (those of Python are
# for /usr/bin/python3), and what Celery's transport for SQS needs.
test_packages=(clang-format-14 curl jq openssl procps postgresql-15 rabbitmq-server
  awscli rclone s3cmd python3-boto3 python3-celery python3-pycurl)
long_packages=(patroni etcd-server etcd-client python3-etcd python3-psycopg2 iproute2)
# For AWS's SDK. Where Node comes from elsewhere it has its own npm, which Debian's would replace.
command -v npm >/dev/null || test_packages+=(nodejs npm)

# Installs what is missing of `packages` (and of the names given); quick if nothing is.
install_packages() {
  local missing=() names
  for names in "${packages[@]}" "$@"; do
    dpkg-query -W -f='${Status}\n' ${names//|/ } 2>/dev/null | grep -q 'ok installed' ||
      missing+=("${names%%|*}")
  done
  ((${#missing[@]})) || return 0
  if [[ $(id -u) != 0 ]]; then
    echo "These packages are missing: ${missing[*]}" >&2
    echo "Install them as root: apt-get install --no-install-recommends ${missing[*]}" >&2
    return 1
  fi
  echo "Installing ${missing[*]}" >&2
  apt-get update -qq >&2
  # Nothing of the user's goes for them.
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends --no-remove \
    "${missing[@]}" >/dev/null
}

# Where programs go unless PREFIX says otherwise.
default_prefix() { if [[ $(id -u) == 0 ]]; then echo /usr/local; else echo "$HOME/.local"; fi; }

# A second clone finds what the first one compiled.
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime

# build PRESET [TARGET...]
build() {
  local preset=$1
  shift
  [[ -f build/$preset/build.ninja ]] || cmake --preset "$preset" >/dev/null
  cmake --build "build/$preset" ${1:+--target "$@"}
}
