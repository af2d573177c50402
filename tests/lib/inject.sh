# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
#
# Killing and failing system calls with strace(1); read behind custody.sh.
#
#	i_need               ends the script with a skip where strace cannot trace
#	i_keep               remember the home as it is now
#	i_back               the home as it was then, under the same path
#	i_points COMMAND...  run it once; prints "SYSCALL N" for each call that
#	                     changes something on disk, N counted for its name;
#	                     fails unless it ends with status $I_ENDS, or 0
#	i_sample K           every Kth line, all with CK_SWEEP=full
#	i_inject WHAT COMMAND...  run it, strace told -e inject=WHAT; sets $status
#	i_record WHAT COMMAND...  forget what was recorded; keep the home; run the
#	                     command, strace told -e inject=WHAT, and record it
#	i_cuts COMMAND...    record this run, too; prints what power cuts may leave
#	                     of the recorded runs (see tests/tools/ck-cut.c)
#	i_cut N              the home as the power cut number N leaves it

I_CALLS='openat,rename,renameat,renameat2,link,linkat,unlink,unlinkat,rmdir'
I_CALLS=$I_CALLS',mkdir,mkdirat,fsync,fdatasync,fchmod,write,pwrite64'
I_CALLS=$I_CALLS',ftruncate,utimensat'

# Everything by which a process can change a disk, and what says where.
I_CUT_CALLS=$I_CALLS',open,creat,read,lseek,writev,pwritev,pwritev2,truncate'
I_CUT_CALLS=$I_CUT_CALLS',fallocate,symlink,symlinkat,chmod,fchmodat,umask,mmap'
I_CUT_CALLS=$I_CUT_CALLS',sync_file_range,sync,syncfs,msync,dup,dup2,dup3'
I_CUT_CALLS=$I_CUT_CALLS',copy_file_range,sendfile,splice,?io_uring_setup'

I_FAST=''

# A tracer keeps LeakSanitizer from working, which is no finding.
i_strace() {
	env ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" strace -f -qq "$@"
}

i_need() {
	t_find_tool strace || skip_all 'no strace here'
	strace -o /dev/null true 2>/dev/null || skip_all 'tracing is not allowed'
	# Stops at the calls that are asked for only: half of the time.
	! strace -f --seccomp-bpf -o /dev/null true 2>/dev/null ||
	    I_FAST=--seccomp-bpf
}

i_keep() {
	rm -rf "$T_TMP/kept"
	cp -a "$T_HOME" "$T_TMP/kept"
}

i_back() {
	chmod -R u+rwX "$T_HOME"
	rm -rf "$T_HOME"
	cp -a "$T_TMP/kept" "$T_HOME"
}

# An openat matters when it may create; a write when it is not the report.
i_points() {
	i_strace -o "$T_TMP/points" -e "trace=$I_CALLS" "$@" \
	    >/dev/null 2>"$T_ERR" || [ $? -eq "${I_ENDS:-0}" ] || return 1
	awk '{
		sub(/^[0-9]+ +/, "")
		name = $0
		sub(/\(.*/, "", name)
		if (name !~ /^[a-z0-9_]+$/)
			next
		n[name]++
		if (name == "openat" && !/O_CREAT/)
			next
		if (name == "write" && /^write\([12],/)
			next
		print name, n[name]
	}' "$T_TMP/points"
}

i_sample() {
	awk -v k="$1" -v full="${CK_SWEEP:-}" \
	    'full == "full" || NR % k == 1 || k == 1'
}

# shellcheck disable=SC2034  # status is the scripts'
# The shell of its own keeps "Killed" out of our standard error.
i_inject() {
	i_what=$1
	shift
	status=0
	i_fast=$I_FAST
	# With it, strace 6.1 does not deliver signals.
	case $i_what in
	*signal=*) i_fast='' ;;
	esac
	(
		i_strace ${i_fast:+"$i_fast"} -o "$T_TMP/trace" -e "trace=${i_what%%:*}" \
		    -e "inject=$i_what" "$@" >"$T_OUT" 2>"$T_ERR"
		exit $?
	) 2>/dev/null || status=$?
}

# Without -qq: a second run has to see where the first one ended.  The program
# closes itself to its user, who would then see no path: prctl(2) is answered
# with "done" without doing it, unless root looks.
i_trace_cuts() {
	[ "$(id -u)" -eq 0 ] || set -- -e inject=prctl:retval=0 "$@"
	env ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" \
	    strace -f -q -xx -y -s 2097152 -o "$T_TMP/cut.last" \
	    -e "trace=$I_CUT_CALLS,prctl" "$@" >/dev/null 2>"$T_ERR"
}

i_record() {
	rm -rf "$T_TMP/cut.start"
	cp -a "$T_HOME" "$T_TMP/cut.start"
	: >"$T_TMP/cut.log"
	[ -n "$1" ] || return 0
	i_what=$1
	shift
	(i_trace_cuts -e "inject=$i_what" "$@") 2>/dev/null
	cat "$T_TMP/cut.last" >>"$T_TMP/cut.log"
}

i_cuts() {
	i_trace_cuts "$@" || return 1
	cat "$T_TMP/cut.last" >>"$T_TMP/cut.log"
	"$T_TOOLS/ck-cut" list "$T_TMP/cut.log" "$T_HOME" "$T_TMP/cut.start"
}

i_cut() { # number
	chmod -R u+rwX "$T_HOME"
	rm -rf "$T_HOME"
	"$T_TOOLS/ck-cut" make "$T_TMP/cut.log" "$T_HOME" "$T_TMP/cut.start" \
	    "$1" "$T_HOME"
}
