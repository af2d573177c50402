#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Work is unaffected: what people do all day says and leaves the same inside the
# boundary and outside; what docs/boundary.md lists as exceptions differs, and
# nothing else.
# traced: no
# sanitized: no
# What is started never has a secret, and is not our program.
# shellcheck disable=SC2016  # the scripts expand their own variables
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
. "$(dirname "$0")/../lib/worker.sh"
w_need
w_custody
# Not the twin's home in its settings.
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b \
    GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b \
    GIT_AUTHOR_DATE='2024-01-02T03:04:05Z' GIT_COMMITTER_DATE='2024-01-02T03:04:05Z'

# What was said, and what lies in the home: kind, mode, size, links, target,
# name, and the content of files.
told() { # home
	cat "$T_OUT" "$T_ERR"
	echo "status $status"
	(cd "$1" && find src work .cache .local .config/app -name .git -prune -o \
	    -printf '%y %m %n %l %p\n' 2>/dev/null | sort)
	(cd "$1" && find src work .cache .local .config/app -name .git -prune -o \
	    -type f ! -name .env.local -print 2>/dev/null | sort | xargs -r cksum)
}
# The same text outside, in the twin, and inside.
works() { # name, shell text
	w_out sh -c "cd \"\$HOME/src/app\" && $2"
	told "$W_TWIN" | sed "s|$W_TWIN|HOME|g" >"$T_TMP/out"
	t_why "it fails outside"
	[ "$status" -eq 0 ]
	t_result $? "$1: control"
	w_in sh -c "cd \"\$HOME/src/app\" && $2"
	told "$W_HOME" | sed "s|$W_HOME|HOME|g" >"$T_TMP/in"
	diff "$T_TMP/out" "$T_TMP/in" >"$T_NOTE"
	t_result $? "$1"
}

t_case files
works 'an editor that saves by rename' '
    echo one >notes && cp -p notes notes~ && echo two >.notes.swp &&
    mv .notes.swp notes && cat notes notes~ && rm notes~'
works 'an editor that makes room for the old one' '
    mv notes notes.bak && echo three >notes && chmod 0640 notes && rm notes.bak'
works 'links, modes, times, pipes' '
    ln notes hard && ln -s notes soft && chmod 0600 soft && touch -d 2024-01-02 hard &&
    stat -c "%h %a %Y %U" notes && mkfifo pipe && (echo through >pipe & cat pipe; wait) && rm pipe'
works 'directories' '
    mkdir -p a/b/c && echo x >a/b/c/f && mv a/b a/d && cp -a a z && rm -r a &&
    tar cf t.tar z && rm -r z && tar xf t.tar && rm t.tar && du -a --apparent-size z | cut -f2 | sort'
works 'locks and temporary files' '
    flock lock sh -c "flock -n lock true; echo \$?" && T=$(mktemp) && echo x >"$T" && rm "$T" &&
    mkdir -p /dev/shm/ck.$$ && rmdir /dev/shm/ck.$$'
works 'settings of a program' '
    mkdir -p "$HOME/.config/app" "$HOME/.cache/app" && echo 1 >"$HOME/.config/app/c.new" &&
    mv "$HOME/.config/app/c.new" "$HOME/.config/app/c" && touch "$HOME" "$HOME/src" . .env'
works 'a checkout that is moved below one' '
    mkdir -p "$HOME/src/app/sub/x" && mv sub sub2 && rm -r sub2'

t_case programs
works 'a package that goes into the home' '
    mkdir -p pkg/bin pkg/share && printf "#!/bin/sh\necho installed\n" >pkg/bin/tool &&
    chmod 0755 pkg/bin/tool && tar cf - -C pkg . |
    (mkdir -p "$HOME/.local/opt" && cd "$HOME/.local/opt" && tar xf -) &&
    mkdir -p "$HOME/.local/bin" && ln -sf ../opt/bin/tool "$HOME/.local/bin/tool" &&
    PATH=$HOME/.local/bin:$PATH tool && rm -r pkg'
if t_find_tool dpkg-deb; then
	works 'a Debian package' '
	    mkdir -p deb/DEBIAN deb/usr/bin && echo data >deb/usr/bin/x &&
	    printf "Package: x\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b>\nDescription: x\n" >deb/DEBIAN/control &&
	    SOURCE_DATE_EPOCH=1 dpkg-deb --root-owner-group -b deb x.deb >/dev/null && dpkg-deb -x x.deb "$HOME/.local/deb" &&
	    cat "$HOME/.local/deb/usr/bin/x" && rm -r deb x.deb'
else
	skip 'a Debian package' 'no dpkg-deb here'
fi
if t_find_tool make; then
	works 'make install into the home' '
	    mkdir mk && printf "prefix = /usr/local\ninstall:\n\tinstall -d \$(prefix)/bin \$(prefix)/lib/mk\n" >mk/Makefile &&
	    printf "\tinstall -m 0755 tool \$(prefix)/bin/mktool\n\tinstall -m 0644 Makefile \$(prefix)/lib/mk/data\n" >>mk/Makefile &&
	    printf "#!/bin/sh\ncat \"\${0%%/*}/../lib/mk/data\" | wc -l\n" >mk/tool && make -s -C mk install prefix="$HOME/.local" &&
	    "$HOME/.local/bin/mktool" && make -s -C mk install prefix="$HOME/.local" && rm -r mk'
else
	skip 'make install into the home' 'no make here'
fi
# Two of its files have the name of the home in them.
if t_find_tool python3 && python3 -m pip --version >/dev/null 2>&1; then
	works 'a Python package' '
	    mkdir py && printf "from setuptools import setup\nsetup(name=\"px\", version=\"1\", py_modules=[\"px\"])\n" >py/setup.py &&
	    echo "print(1)" >py/px.py && python3 -m pip --no-cache-dir -qq install --no-index --no-build-isolation \
	    --no-compile --target "$HOME/.local/py" ./py >/dev/null 2>&1 &&
	    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$HOME/.local/py python3 -m px && ls "$HOME/.local/py/"* &&
	    rm -r py "$HOME/.local/py/px-1.dist-info/RECORD" "$HOME/.local/py/px-1.dist-info/direct_url.json"'
else
	skip 'a Python package' 'no pip here'
fi
if t_find_tool npm; then
	works 'an npm package' '
	    mkdir -p np && echo "{\"name\":\"np\",\"version\":\"1.0.0\",\"bin\":\"x.js\"}" >np/package.json &&
	    printf "#!/usr/bin/env node\nconsole.log(1)\n" >np/x.js &&
	    npm_config_cache=$HOME/work/npm npm --offline --silent -g --prefix "$HOME/.local" install --install-links ./np >/dev/null &&
	    rm -rf "$HOME/work/npm" && "$HOME/.local/bin/np" && rm -r np'
else
	skip 'an npm package' 'no npm here'
fi
if t_find_tool cc; then
	works 'build and test' '
	    printf "int f(void); int f(void) { return 3; }\n" >f.c &&
	    printf "int f(void); int main(void) { return f() - 3; }\n" >m.c &&
	    cc -g0 -c f.c && ar rcD libf.a f.o && cc -g0 -o m m.c libf.a -Wl,--build-id=none && ./m && echo passed &&
	    rm m libf.a f.o'
else
	skip 'build and test' 'no compiler here'
fi
if t_find_tool git; then
	works git '
	    cd "$HOME/src" && git init -q -b main one && cd one && echo 1 >f && git add f && git commit -qm 1 &&
	    git clone -q "$HOME/src/one" "$HOME/src/app/two" && cd "$HOME/src/app/two" && git switch -qc b &&
	    echo 2 >>f && git commit -qam 2 && git push -q origin b && git worktree add -q ../three main &&
	    cd ../three && echo 3 >g && git add g && git stash -q && git stash pop -q && git commit -qm 3 &&
	    git rebase -q b && git log --format=%H --all && git worktree list | cut -d" " -f1 && cd ../two &&
	    git worktree remove ../three && git gc -q && git fsck 2>&1 && git status --porcelain'
else
	skip 'clone, worktree, push, rebase' 'no git here'
fi

t_case processes
works 'children, signals, statuses' '
    sh -c "exit 3"; echo $?; sleep 9 & kill $! && wait $!; echo $?; sh -c "trap \"\" TERM; kill -TERM \$\$; echo lives"; sh -c "kill -KILL \$\$"; echo $?;
    setsid sh -c "echo session"; nohup sh -c "echo hup" 2>/dev/null; nice -n 3 nice'
works 'what the process is' '
    umask; ulimit -a; id -u; id -un; id -g; pwd; nice; cat /proc/self/oom_score_adj /proc/self/cgroup &&
    grep -E "^(Uid|Gid|SigB|SigI|SigC|Cpus_allowed|Mems_allowed|Umask)" /proc/self/status; uname -a; hostname; nproc'
works 'the environment but for what is listed' '
    env | grep -vE "^(CLANKIE_[A-Z_]*(TOKEN|CREDENTIAL|PANE)|DISCORD_(BOT|USER)_TOKEN|SWARM_SESSION_CAPABILITY|REAL|_)=" | sort'
if t_find_tool script; then
	works 'a terminal' '
	    script -qec "tty | cut -c1-8; stty size; test -t 0" /dev/null </dev/null'
else
	skip 'a terminal' 'no script(1) here'
fi
if t_find_tool tmux; then
	works 'a tmux session' '
	    tmux -S "$HOME/work/s" -f /dev/null new-session -d "cd \$HOME; tty | cut -c1-8 >work/in; sleep 9" &&
	    for i in $(seq 50); do test -s "$HOME/work/in" && break; sleep 0.1; done;
	    cat "$HOME/work/in"; tmux -S "$HOME/work/s" kill-server; rm -f "$HOME/work/s"'
else
	skip 'a tmux session' 'no tmux here'
fi
if t_find_tool bwrap && bwrap --dev-bind / / true 2>/dev/null; then
	works 'a sandbox of its own' '
	    bwrap --ro-bind / / --bind "$HOME/src" "$HOME/src" --dev /dev --proc /proc --tmpfs /tmp \
	    --unshare-pid --unshare-net --die-with-parent -- sh -c "echo x >\$HOME/src/x; cat \$HOME/src/x; ! echo y >\$HOME/y" 2>/dev/null'
else
	skip 'a sandbox of its own' 'no bwrap here'
fi

# Each is there: it works outside, and inside it fails as it is written.
t_case exceptions
differs() { # name, shell text, the message of the failure or status
	w_tidy
	w_out sh -c "cd \"\$HOME/src/app\" && $2"
	t_why 'it fails outside'
	[ "$status" -eq 0 ]
	t_result $? "$1: control"
	w_in sh -c "cd \"\$HOME/src/app\" && $2"
	t_why 'it is no exception'
	[ "$status" -le 2 ] && [ "$status" -gt 0 ] && cat "$T_OUT" "$T_ERR" | grep -q "$3"
	t_result $? "$1"
}
differs 'hard links from one checkout to another' \
    'echo x >e && ln e "$HOME/work/e"' 'cross-device'
works 'but mv copies' 'rm -f e "$HOME/work/e" && echo x >e2 && mv e2 "$HOME/work/e2" && mv "$HOME/work/e2" e2'
differs 'a checkout is not renamed' 'mv "$HOME/src/app" "$HOME/src/app2" && mv "$HOME/src/app2" "$HOME/src/app"' 'busy'
differs 'files of root show another owner' \
    'stat -c "owner %U" / && [ "$(stat -c %U /)" = root ]' 'owner nobody'
differs 'no new privileges' 'cat /proc/self/status && grep -q "NoNewPrivs.*0" /proc/self/status' \
    'NoNewPrivs.*1'
differs 'the whole home' 'tar cf /dev/null "$HOME" 2>&1' 'Permission denied'
differs 'other files of the directory of the broker' \
    'echo x >"$HOME/.config/clankie/other" && rm "$HOME/.config/clankie/other"' 'Read-only'
exec 9</dev/null
differs 'further descriptors' 'ls /proc/self/fd && [ -e /proc/$$/fd/9 ]' 0
exec 9<&-
