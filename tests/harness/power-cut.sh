#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ck-cut makes exactly the trees that a power cut may leave, and refuses a log
# that it cannot follow.
CK=${CK:-/bin/true}
export CK
. "$(dirname "$0")/../lib/tap.sh"

start=$T_TMP/start
log=$T_TMP/log
root=/h

# Text in hex, as strace -xx prints it.
x() {
	printf '%s' "$1" | od -An -v -tx1 | tr -d '\n' | sed 's/ /\\x/g'
}

# Lines of a log, of which paths and strings are written as <...> and "...".
lines() {
	while IFS= read -r line; do
		case $line in
		'') continue ;;
		esac
		out=''
		while :; do
			case $line in
			*[\<\"]*) ;;
			*) break ;;
			esac
			before=${line%%[<\"]*}
			rest=${line#"$before"}
			open=$(printf %.1s "$rest")
			[ "$open" = '<' ] && close='>' || close='"'
			rest=${rest#?}
			text=${rest%%"$close"*}
			line=${rest#*"$close"}
			out="$out$before$open$(x "$text")$close"
		done
		printf '7 %s%s\n' "$out" "$line"
	done >"$log"
}

# Every tree as one line: names, and contents of the files.
trees() {
	run "$T_TOOLS/ck-cut" list "$log" $root "$start"
	expect_status 0
	cp "$T_OUT" "$T_TMP/list"
	sed '/^#/d; s/ .*//' "$T_TMP/list" | while read -r number; do
		rm -rf "$T_TMP/tree"
		"$T_TOOLS/ck-cut" make "$log" $root "$start" "$number" \
		    "$T_TMP/tree"
		(cd "$T_TMP/tree" && find . -mindepth 1 | sort |
		    while read -r path; do
			printf '%s' "${path#./}"
			[ -d "$path" ] || printf '=%s' "$(cat "$path")"
			printf ' '
		done)
		echo
	done | sed 's/ $//' | sort >"$T_OUT"
}

t_case 'a new file that is never synced'
mkdir "$start"
lines <<'S'
openat(AT_FDCWD</>, "/h/a", O_WRONLY|O_CREAT, 0600) = 3</h/a>
write(3</h/a>, "xy", 2) = 2
write(3</h/a>, "z", 1) = 1
S
trees
expect_out '
a=
a=xy
a=xyz'

t_case 'a synced file without a synced name'
lines <<'S'
openat(AT_FDCWD</>, "/h/a", O_WRONLY|O_CREAT, 0600) = 3</h/a>
write(3</h/a>, "xy", 2) = 2
fsync(3</h/a>) = 0
S
trees
expect_out '
a=
a=xy'

t_case 'a file replaced by rename'
echo old >"$start/a"
lines <<'S'
openat(4</h>, "t", O_WRONLY|O_CREAT|O_EXCL, 0600) = 3</h/t>
write(3</h/t>, "new", 3) = 3
renameat(4</h>, "t", 4</h>, "a") = 0
fsync(4</h>) = 0
S
trees
expect_out 'a=
a=new
a=old
a=old t=
a=old t=new'

t_case 'and its data synced first'
lines <<'S'
openat(4</h>, "t", O_WRONLY|O_CREAT|O_EXCL, 0600) = 3</h/t>
write(3</h/t>, "new", 3) = 3
fsync(3</h/t>) = 0
renameat(4</h>, "t", 4</h>, "a") = 0
fsync(4</h>) = 0
S
trees
expect_out 'a=new
a=old
a=old t=
a=old t=new'

t_case 'a directory whose own name is not synced'
rm -rf "$start"
mkdir "$start"
lines <<'S'
mkdir("/h/d", 0700) = 0
openat(4</h/d>, "a", O_WRONLY|O_CREAT, 0600) = 3</h/d/a>
fsync(3</h/d/a>) = 0
fsync(4</h/d>) = 0
S
trees
expect_out '
d
d d/a='

t_case 'two directories, each old or new'
rm -rf "$start"
mkdir -p "$start/d" "$start/e"
: >"$start/d/a"
: >"$start/e/b"
lines <<'S'
unlink("/h/d/a") = 0
unlinkat(4</h/e>, "b", 0) = 0
S
trees
expect_out 'd d/a= e
d d/a= e e/b=
d e
d e e/b='

t_case 'names that change places'
rm -rf "$start"
mkdir "$start"
printf 1 >"$start/a"
printf 2 >"$start/b"
lines <<'S'
renameat2(4</h>, "a", 4</h>, "b", RENAME_EXCHANGE) = 0
S
trees
expect_out 'a=1 b=2
a=2 b=1'

t_case 'pages, a shorter file, reading on the way'
printf abcdef >"$start/a"
rm "$start/b"
lines <<'S'
openat(AT_FDCWD</>, "/h/a", O_RDWR) = 3</h/a>
read(3</h/a>, "ab", 2) = 2
write(3</h/a>, "X", 1) = 1
pwrite64(3</h/a>, "YZ", 2, 6) = 2
lseek(3</h/a>, 0, SEEK_SET) = 0
write(3</h/a>, "W", 1) = 1
ftruncate(3</h/a>, 5) = 0
S
trees
expect_out 'a=WbXde
a=WbXdefYZ
a=abXdef
a=abXdefYZ
a=abcdef'

t_case 'modes'
chmod 0600 "$start/a"
lines <<'S'
umask(077) = 022
openat(AT_FDCWD</>, "/h/n", O_WRONLY|O_CREAT, 0644) = 3</h/n>
fsync(4</h>) = 0
fchmod(3</h/n>, 0400) = 0
S
trees
tail -n 1 "$T_TMP/list" >"$T_OUT"
expect_out '# cuts 3 trees 5 different 3'
for number in 2 3; do
	rm -rf "$T_TMP/tree"
	"$T_TOOLS/ck-cut" make "$log" $root "$start" $number "$T_TMP/tree"
	expect_mode "0$((number == 2 ? 6 : 4))00" "$T_TMP/tree/n"
done

t_case 'what is elsewhere, and what failed'
lines <<'S'
openat(AT_FDCWD</>, "/etc/x", O_WRONLY|O_CREAT, 0600) = 3</etc/x>
write(3</etc/x>, "xy", 2) = 2
unlink("/h/a") = -1 EACCES (Permission denied)
dup(3</etc/x>) = 4</etc/x>
S
trees
tail -n 1 "$T_TMP/list" >"$T_OUT"
expect_out '# cuts 0 trees 0 different 0'

t_case 'two runs, the first of them killed'
lines <<'S'
unlink("/h/a" <unfinished ...>
+++ killed by SIGKILL +++
S
sed 's/^7/8/' "$log" >"$T_TMP/first"
lines <<'S'
mkdir("/h/d", 0700) = 0
S
cat "$T_TMP/first" "$log" >"$T_TMP/both"
mv "$T_TMP/both" "$log"
trees
expect_out 'a=abcdef
a=abcdef d'

refused() { # what
	t_case "$1"
	lines
	run "$T_TOOLS/ck-cut" list "$log" $root "$start"
	expect_status 2
	expect_err_has 'line 1: '
}
refused 'a mapping that is written to' <<'S'
mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, 3</h/a>, 0) = 0x7f00
S
refused 'a call that is not known' <<'S'
copy_file_range(3</etc/x>, NULL, 4</h/a>, NULL, 9, 0) = 9
S
refused 'a second descriptor for a file' <<'S'
dup(3</h/a>) = 4</h/a>
S
refused 'a string that is cut off' <<'S'
write(3</h/a>, "xy"..., 90) = 90
S
refused 'a file that is not there' <<'S'
write(3</h/b>, "xy", 2) = 2
S
refused 'a call in two halves' <<'S'
<... unlink resumed>) = 0
S
t_case 'two processes at a time'
lines <<'S'
mkdir("/h/d", 0700) = 0
S
sed 's/^7/8/' "$log" >"$T_TMP/other"
cat "$T_TMP/other" >>"$log"
run "$T_TOOLS/ck-cut" list "$log" $root "$start"
expect_status 2
expect_err_has 'line 2: another process'
