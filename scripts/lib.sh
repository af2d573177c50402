# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
#
# What the other scripts share: which system this is, what it lacks, how to
# build.  Sourced after set -eu, with $CK_ROOT set to the top of the tree.
#
#	ck_need NAME...     install what is missing, or stop and say how
#	ck_want NAME...     the same, but fail (1) instead of stopping
#	ck_build PRESET [CMAKE ARGUMENT...]   configure and build build/PRESET
#
# NAME is a logical name of ck_package(); it counts as present when its check
# in ck_have() succeeds, however it was installed.

ck_say() {
	echo "$(basename "$0"): $*" >&2
}

ck_die() {
	ck_say "$@"
	exit 1
}

ck_os() {
	if [ "$(uname -s)" = Darwin ]; then
		echo macos
	elif [ -r /etc/debian_version ]; then
		echo debian
	else
		echo other
	fi
}

CK_OS=$(ck_os)
CK_JOBS=${CK_JOBS:-3}

if [ "$CK_OS" = macos ] && command -v brew >/dev/null; then
	# Homebrew keeps these out of the default search path.
	for ck_keg in openssl@3 sqlite llvm; do
		ck_prefix=$(brew --prefix "$ck_keg" 2>/dev/null) || continue
		PKG_CONFIG_PATH=$ck_prefix/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
		# Apple's clang has no libFuzzer.
		[ "$ck_keg" != llvm ] || PATH=$ck_prefix/bin:$PATH
	done
	export PKG_CONFIG_PATH PATH
fi

# Does "clang -fsanitize=..." link here?  The run-time is a package of its own.
ck_have_sanitizer() {
	ck_probe=$(mktemp -d) || return 1
	echo 'int LLVMFuzzerTestOneInput(const unsigned char *, unsigned long);
int LLVMFuzzerTestOneInput(const unsigned char *p, unsigned long n)
{ (void)p; (void)n; return 0; }' >"$ck_probe/probe.c"
	ck_status=0
	clang -fsanitize=fuzzer,address,undefined -o "$ck_probe/probe" \
	    "$ck_probe/probe.c" 2>/dev/null || ck_status=1
	rm -rf "$ck_probe"
	return $ck_status
}

# GNU timeout(1) by the name it has here.
ck_timeout() {
	command -v timeout || command -v gtimeout
}

ck_have() {
	case $1 in
	cc) command -v cc >/dev/null && echo '#include <stdio.h>' | cc -E - >/dev/null 2>&1 ;;
	clang-rt) ck_have_sanitizer ;;
	openssl) pkg-config --exists 'libcrypto >= 3' 2>/dev/null ;;
	sqlite) pkg-config --exists 'sqlite3 >= 3.37' 2>/dev/null ;;
	jansson) pkg-config --exists jansson 2>/dev/null ;;
	cmocka) pkg-config --exists cmocka 2>/dev/null ;;
	tinyscheme) command -v tinyscheme >/dev/null ;;
	openssl-tool) command -v openssl >/dev/null ;;
	coreutils) ck_timeout >/dev/null ;;
	*) command -v "$1" >/dev/null ;;
	esac
}

# Name of the package that brings it; empty: this system has none.
ck_package() {
	case $CK_OS:$1 in
	debian:cc | debian:gcc) echo 'gcc libc6-dev' ;;
	debian:ninja) echo ninja-build ;;
	debian:clang-rt)
		ck_major=$(clang -dumpversion 2>/dev/null | cut -d. -f1)
		# Before clang is there, its package brings the default version.
		echo "libclang-rt-${ck_major:-14}-dev" ;;
	debian:openssl) echo libssl-dev ;;
	debian:openssl-tool) echo openssl ;;
	debian:sqlite) echo libsqlite3-dev ;;
	debian:jansson) echo libjansson-dev ;;
	debian:cmocka) echo libcmocka-dev ;;
	debian:bwrap) echo bubblewrap ;;
	debian:node) echo nodejs ;;
	debian:*) echo "$1" ;;
	macos:cc | macos:gcc) ;; # xcode-select --install
	macos:clang | macos:clang-rt | macos:clang-tidy) echo llvm ;;
	macos:openssl | macos:openssl-tool) echo openssl@3 ;;
	macos:strace | macos:bwrap | macos:tinyscheme) ;;
	macos:sqlite3) echo sqlite ;;
	macos:faketime) echo libfaketime ;;
	macos:*) echo "$1" ;;
	esac
}

ck_missing() {
	for ck_name; do
		ck_have "$ck_name" || echo "$ck_name"
	done
}

ck_as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
		sudo "$@"
	else
		return 1
	fi
}

ck_updated=''

ck_apt() { # packages
	# Old lists are better than none when the mirror is away.
	[ -n "$ck_updated" ] || ck_as_root apt-get -q update || true
	ck_updated=1
	ck_as_root env DEBIAN_FRONTEND=noninteractive \
	    apt-get -q install -y --no-install-recommends "$@"
}

ck_install() { # packages
	case $CK_OS in
	debian)
		ck_as_root true || return 1
		ck_say "installing: $*"
		ck_log=$(mktemp)
		ck_status=0
		ck_apt "$@" >"$ck_log" 2>&1 || ck_status=$?
		[ "$ck_status" -eq 0 ] || tail -n 5 "$ck_log" >&2
		rm -f "$ck_log"
		return "$ck_status" ;;
	macos)
		command -v brew >/dev/null || return 1
		ck_say "installing: $*"
		HOMEBREW_NO_AUTO_UPDATE=1 brew install -q "$@" ;;
	*) return 1 ;;
	esac
}

ck_want() {
	ck_names=$(ck_missing "$@")
	[ -n "$ck_names" ] || return 0
	ck_packages=$(for ck_name in $ck_names; do
		ck_package "$ck_name" | tr ' ' '\n'
	done | sort -u)
	if [ -n "$ck_packages" ]; then
		# shellcheck disable=SC2086  # a list of package names
		ck_install $ck_packages || true
	fi
	[ -z "$(ck_missing "$@")" ]
}

ck_need() {
	ck_want "$@" && return 0
	ck_say "missing: $(ck_missing "$@" | tr '\n' ' ')"
	ck_packages=$(for ck_name in $(ck_missing "$@"); do
		ck_package "$ck_name" | tr ' ' '\n'
	done | sort -u | tr '\n' ' ')
	case $CK_OS in
	debian) ck_die "as root run: apt-get install $ck_packages" ;;
	macos) ck_die "run: xcode-select --install; brew install $ck_packages" ;;
	*) ck_die 'install them with the package manager of this system' ;;
	esac
}

# A build directory of another checkout or generator is made anew.
ck_build() { # preset, arguments for cmake
	ck_preset=$1
	ck_dir=$CK_ROOT/build/$1
	shift
	if [ -e "$ck_dir/CMakeCache.txt" ] && ! {
		grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$CK_ROOT" "$ck_dir/CMakeCache.txt" &&
		    grep -qxF 'CMAKE_GENERATOR:INTERNAL=Ninja' "$ck_dir/CMakeCache.txt"
	}; then
		rm -rf "$ck_dir"
	fi
	(cd "$CK_ROOT" && cmake --preset "$ck_preset" -G Ninja "$@" &&
	    cmake --build "build/$ck_preset" -j "$CK_JOBS")
}
