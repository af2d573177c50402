#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# worker exec: the command is the process, its status is the command's, and
# work inside is as outside but for the exceptions that docs/boundary.md lists.
# traced: no
# What is started never has a secret, and copies files in ways that a trace does
# not show.
# shellcheck disable=SC2016  # the attempts expand their own variables
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/worker.sh"

t_case 'before there is a custody'
c_home
snapshot -d "$T_HOME"
for words in '' exec 'exec --' 'exec true' 'spell -- true' \
    'exec --status-fd 2 -- true' 'exec --status-fd 77 -- true' \
    'exec --no -- true'; do
	# shellcheck disable=SC2086  # words
	run "$CK" worker $words
	expect_status 2
	expect_out_empty
done
if [ "$(id -u)" -eq 0 ]; then
	run "$CK" worker exec -- true
	expect_status 20
	expect_err_has 'ordinary user'
	expect_unchanged
	exit 0
fi
mkdir -p "$CLANKIE"
echo '{"fleet":{"workerSandbox":true}}' >"$CLANKIE/settings.json"
snapshot -d "$T_HOME"
run "$CK" worker exec -- true
expect_status 23
expect_err_has migrate
expect_unchanged
w_need
w_custody
ENTRY=$(dirname "$CK")/clankie-worker-entry
PLAN=$KEYS/worker.mounts

t_case 'exit statuses'
for code in 0 1 7 20 126 127 255; do
	run "$CK" worker exec -- sh -c "exit $code"
	expect_status "$code"
done
run "$CK" worker exec -- sh -c 'kill -TERM $$'
expect_status 143
run "$CK" worker exec -- sh -c 'kill -KILL $$'
expect_status 137
run "$CK" worker exec -- /no/such/command
expect_status 127
run "$CK" worker exec -- /etc/passwd
expect_status 126
reports() { # command; what it says on its status descriptor is in $T_TMP/st
	run bash -c 'exec 5>"$1"; shift; "$@"' sh "$T_TMP/st" "$@"
}
reports "$CK" worker exec --status-fd 5 -- sh -c 'exit 20'
expect_status 20
expect 'a command that was started reports nothing' test ! -s "$T_TMP/st"
reports "$CK" worker exec --status-fd 5 -- /no/such/command
expect 'a missing one does' test "$(cat "$T_TMP/st")" = '127 not-found'
reports "$CK" worker exec --status-fd 5 -- /etc/passwd
expect 'one that cannot run does' test "$(cat "$T_TMP/st")" = '126 not-run'
reports "$CK" worker exec --status-fd 5 -- sh -c 'echo x >&5'
refute 'the descriptor is not inherited' test "$status" -eq 0

t_case 'one process'
run sh -c 'echo $$; exec "$1" worker exec -- sh -c "echo \$\$ \$PPID"' sh "$CK"
expect 'with the same number' [ "$(sed -n 1p "$T_OUT")" = \
    "$(sed -n '2s/ .*//p' "$T_OUT")" ]
run bash -c 'exec "$1" worker exec -- bash -c "exec -a -zsh sh -c '\''tr \"\\\\0\" \"\\\\n\" </proc/\$\$/cmdline | head -n 1'\''"' sh "$CK"
expect_out -zsh
run "$CK" worker exec -- sh -c 'printf "%s." "$@"' sh a '' 'b c' -- --plan
expect 'arguments as they are' [ "$(cat "$T_OUT")" = 'a..b c.--.--plan.' ]
run sh -c 'umask 027; ulimit -n 99; "$1" worker exec -- sh -c "umask; ulimit -n"' sh "$CK"
expect 'umask and limits as they are' [ "$(tr '\n' ' ' <"$T_OUT")" = '0027 99 ' ]
run env A=1 "B=2 3" "$CK" worker exec -- sh -c 'echo "$A $B"'
expect_out '1 2 3'
run sh -c 'echo in | "$1" worker exec -- sh -c "cat; echo err >&2"' sh "$CK"
expect_out in
expect_err_has err

t_case 'work'
cat >"$T_TMP/work" <<'W'
set -eu
cd "$HOME/src/app"
mkdir -p dir/sub && echo a >dir/sub/file
mv dir/sub dir/sub2 && mv dir dir2 && rm -r dir2
echo a >notes && echo b >.notes.swp && mv .notes.swp notes
ln notes notes2 && ln -s notes notes3 && chmod 0600 notes && rm notes2 notes3
touch . .. "$HOME" && mkdir x && rmdir x
echo "B=2" >.env && echo x >.env.local.example && rm .env .env.local.example
mkdir -p "$HOME/.cache/x" "$HOME/.config/app" && echo 1 >"$HOME/.config/app/c"
mv "$HOME/.config/app/c" "$HOME/.config/app/d"
cat "$HOME/.config/clankie-keys/unlock.json" >/dev/null
T=$(mktemp) && rm "$T"
: >/dev/null && ls /proc/self/ >/dev/null && ls "$HOME" "$HOME/.config" >/dev/null
W
run env HOME="$W_HOME" sh "$T_TMP/work"
expect_status 0
rm -rf "$W_HOME/src/app/notes" "$W_HOME/.cache" "$W_HOME/.config/app"
w_in sh "$T_TMP/work"
expect_status 0
expect_err_empty

t_case git
if t_find_tool git; then
	cat >"$T_TMP/git" <<'W'
set -eu
cd "$HOME/src"
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b \
    GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q one && cd one && echo 1 >f && git add f && git commit -qm 1
git clone -q "$HOME/src/one" "$HOME/src/app/two"
cd "$HOME/src/app/two" && echo 2 >>f && git commit -qam 2 && git push -q origin HEAD:new
git worktree add -q ../three && git status --porcelain && git gc -q
git fsck
W
	w_in sh "$T_TMP/git"
	expect_status 0
else
	skip 'clone, commit, push, worktree' 'no git here'
fi
t_case build
if t_find_tool cc; then
	cat >"$T_TMP/build" <<'W'
set -eu
cd "$HOME/src/app"
printf 'int main(void) { return 0; }\n' >m.c
cc -c -o m.o m.c && cc -o m m.o && ./m && mv m m2 && ./m2
W
	w_in sh "$T_TMP/build"
	expect_status 0
else
	skip 'compile, link, run' 'no compiler here'
fi
t_case 'a sandbox of its own'
if t_find_tool bwrap && bwrap --dev-bind / / true 2>/dev/null; then
	w_in bwrap --ro-bind / / --bind "$W_HOME/src" "$W_HOME/src" --dev /dev \
	    --proc /proc --unshare-pid --unshare-net -- \
	    sh -c 'echo x >"$HOME/src/x" && cat "$HOME/src/x"'
	expect_status 0
	expect_out x
else
	skip 'an inner sandbox' 'no bwrap here'
fi
t_case 'a terminal'
if t_find_tool script; then
	run script -qec "$CK worker exec -- sh -c 'test -t 0 && tty && stty size && ps -o stat= -p \$\$'" \
	    /dev/null
	expect_status 0
	expect 'it is in the foreground of its terminal' grep -q '+' "$T_OUT"
else
	skip 'a terminal' 'no script(1) here'
fi
if t_find_tool tmux; then
	w_in sh -c 'tmux -L ck -f /dev/null new-session -d "echo inside >$HOME/work/tmux; sleep 5"
	    for i in 1 2 3 4 5 6 7 8; do test -s "$HOME/work/tmux" && break; sleep 0.2; done
	    tmux -L ck kill-server; cat "$HOME/work/tmux"'
	expect_status 0
	expect_out inside
else
	skip 'a tmux session' 'no tmux here'
fi

t_case 'the exceptions'
mkdir -p "$W_HOME/src/app/e"
w_in sh -c 'echo x >"$HOME/src/app/e/f" && ln "$HOME/src/app/e/f" "$HOME/work/f"'
expect_status 1
expect_err_has 'Invalid cross-device link'
w_in mv "$W_HOME/src/app/e/f" "$W_HOME/work/f"
expect_status 0
w_in stat -c %U /
refute 'files of root show another owner' grep -qx root "$T_OUT"

t_case 'a plan that is not what the records give'
for edit in 1d /^mask/d /^shut/d '/^bind.*src$/d' 's/^read/bind/' 's/ 0100 / 0700 /' /^end/d; do
	cp "$PLAN" "$T_TMP/plan"
	sed "$edit" "$T_TMP/plan" >"$PLAN"
	run "$CK" worker exec -- true
	expect_status 20
	expect_err_has 'rules --write'
	cat "$T_TMP/plan" >"$PLAN"
done
rm "$PLAN"
run "$CK" worker exec -- true
expect_status 20
run "$CK" rules --write
expect_status 0
expect_same "$PLAN" "$T_TMP/plan"
chmod 0666 "$PLAN"
run "$CK" worker exec -- true
expect_status 19
run "$ENTRY" --plan "$PLAN" -- true
expect_status 19
chmod 0600 "$PLAN"
run "$CK" worker exec -- true
expect_status 0

t_case 'inside already'
w_in "$CK" worker exec -- true
expect_status 71
for words in get migrate rotate 'rules --write' 'precedence list' restore; do
	# shellcheck disable=SC2086  # words
	w_in "$CK" $words
	refute "$words" test "$status" -eq 0
	refute 'and not as if there were nothing' test "$status" -eq 10
	expect_out_empty
done
w_in "$CK" get
expect_status 71
expect_err_has "inside a worker's boundary"
w_in "$CK" check --json
expect_status 21
expect_json findings.0.code not-judged
expect 'and nothing else' \
    test "$(grep -o '"code"' "$T_OUT" | wc -l)" -eq 1

t_case 'an entry that others could change'
mkdir "$T_TMP/bin"
cp "$CK" "$ENTRY" "$T_TMP/bin"
run "$T_TMP/bin/clankie-keys" worker exec -- true
expect_status 0
chmod 0777 "$T_TMP/bin/clankie-worker-entry"
run "$T_TMP/bin/clankie-keys" worker exec -- true
expect_status 19
ln "$T_TMP/bin/clankie-worker-entry" "$T_TMP/bin/second"
chmod 0755 "$T_TMP/bin/second"
run "$T_TMP/bin/clankie-keys" worker exec -- true
expect_status 19
rm -f "$T_TMP/bin/second" "$T_TMP/bin/clankie-worker-entry"
run "$T_TMP/bin/clankie-keys" worker exec -- true
expect_status 20

t_case 'the entry alone'
for words in '' "--plan $PLAN" "--plan $PLAN --" "--plan plan -- true" \
    "--what $PLAN -- true" "--plan $PLAN --status-fd 1 -- true" \
    "--plan $PLAN true"; do
	# shellcheck disable=SC2086  # words
	run "$ENTRY" $words
	expect_status 2
	expect_err_has usage
done
run "$ENTRY" --plan "$PLAN" --shut relative -- true
expect_status 19
run "$ENTRY" --plan "$PLAN" --shut "$T_HOME/work/none" --mask "$T_HOME/work/no" -- true
expect_status 0
echo x >"$T_HOME/work/one"
run "$ENTRY" --plan "$PLAN" --shut "$T_HOME/work/one" -- cat "$T_HOME/work/one"
expect_err_has 'Permission denied'
run "$ENTRY" --plan "$PLAN" --mask "$T_HOME/work" -- cat "$T_HOME/work/one"
expect_status 1
run "$ENTRY" --plan "$PLAN" --mask "$T_HOME/work/../work" -- true
refute 'no other spelling' test "$status" -eq 0
run "$ENTRY" --plan "$PLAN" --mask /etc -- true
expect_status 19
run "$ENTRY" --plan "$T_TMP/none" -- true
expect_status 23
sed 's/^user .*/user 1/' "$PLAN" >"$T_TMP/other"
run "$ENTRY" --plan "$T_TMP/other" -- true
expect_status 19
run "$ENTRY" --plan /etc/passwd -- true
expect_status 14
sed '$d' "$PLAN" >"$T_TMP/other"
run "$ENTRY" --plan "$T_TMP/other" -- true
expect_status 13
t_no_secret
