#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What worker codex and worker exec say of a harness, from real files; what
# follows from each answer is in tests/unit/test_codex.c.
# traced: no
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/custody.sh"
c_home
unset CODEX_HOME CLAUDE_CONFIG_DIR GEMINI_SANDBOX GOOSE_SANDBOX
mkdir -p "$T_HOME/.codex" "$T_HOME/src/app/.git" "$T_HOME/src/app/sub/.codex" \
    "$T_HOME/src/app/.codex" "$T_HOME/.claude" "$T_HOME/.gemini"
cd "$T_HOME/src/app/sub" || exit 1
[ ! -e /etc/codex ] || skip_all 'this machine has a Codex configuration'

codex() { # answer, text of the evidence, Codex's arguments
	codex_want=$1 codex_text=$2
	shift 2
	run "$CK" worker codex --explain --json -- "$@"
	expect_status 0
	expect_json answer "$codex_want"
	expect_out_has "$codex_text"
}

t_case arguments
snapshot -d "$T_HOME"
codex native 'built-in'
expect_json linux wrap
expect_json macos 'not wrapped'
codex full turns --yolo exec 'do it'
expect_json macos wrap
codex native 'built-in' --yolo app-server
codex full 'sets danger' -c 'sandbox_mode="danger-full-access"' app-server
expect_unchanged 'nothing was started or written'
codex undecided --new --new
expect_json linux wrap
expect_json macos refuse
expect_json macos_undecided_wrap wrap
run "$CK" worker codex --explain -- --new
expect_status 0
expect_out_has 'worker sandbox --undecided wrap'
run "$CK" worker exec --explain --json -- /usr/bin/codex --yolo
expect_json answer full

t_case files
echo 'sandbox_mode = "danger-full-access"' >"$T_HOME/.codex/config.toml"
codex full "$T_HOME/.codex/config.toml"
codex native --sandbox -s read-only
echo 'sandbox_mode = "read-only"' >.codex/config.toml
codex undecided trusted
printf '[projects."%s"]\ntrust_level = "trusted"\n' "$T_HOME/src/app" \
    >>"$T_HOME/.codex/config.toml"
codex native "$T_HOME/src/app/sub/.codex/config.toml"
codex full "$T_HOME/.codex/config.toml" -C "$T_HOME"
echo 'sandbox_mode = "danger-full-access"' >../.codex/config.toml
codex native "$T_HOME/src/app/sub/.codex/config.toml"
codex full "$T_HOME/src/app/.codex/config.toml" --cd ..
mv .codex/config.toml "$T_HOME/dot"
ln -s "$T_HOME/dot" .codex/config.toml
codex native "$T_HOME/src/app/sub/.codex/config.toml"
rm "$T_HOME/dot"
codex undecided cannot
rm .codex/config.toml
mkdir .codex/config.toml
codex undecided cannot
rmdir .codex/config.toml
rm ../.codex/config.toml
echo 'sandbox_mode = "work' >"$T_HOME/.codex/config.toml"
codex undecided "$T_HOME/.codex/config.toml"
codex full danger-full-access -c sandbox_mode=danger-full-access
echo 'sandbox_mode = "read-only"' >"$T_HOME/.codex/p.config.toml"
rm "$T_HOME/.codex/config.toml"
codex native p.config.toml -p p
codex undecided 'no file has' -p ../p
codex undecided 'no file has' -p q
mv "$T_HOME/.codex" "$T_HOME/other"
CODEX_HOME=$T_HOME/other
export CODEX_HOME
codex native other/p.config.toml -p p
head -c 1100000 /dev/zero | tr '\0' '\n' >"$T_HOME/other/config.toml"
codex undecided cannot

harness() { # answer, text, command
	harness_want=$1 harness_text=$2
	shift 2
	run "$CK" worker exec --explain --json -- "$@"
	expect_status 0
	expect_json answer "$harness_want"
	expect_out_has "$harness_text"
}

t_case Claude
harness full 'nothing turns' claude
expect_json harness claude
echo '{"sandbox":{"enabled":true}}' >"$T_HOME/.claude/settings.json"
harness native "$T_HOME/.claude/settings.json" /opt/bin/claude -p x
mkdir .claude
echo '{"sandbox":{"enabled":false}}' >.claude/settings.json
harness full "$T_HOME/src/app/sub/.claude/settings.json" claude
echo '{"sandbox":{"enabled":1}}' >.claude/settings.local.json
harness undecided settings.local.json claude
harness native --settings claude --settings '{"sandbox":{"enabled":true}}'
echo '{"sandbox":{"allowUnsandboxedCommands":false}}' >.claude/settings.local.json
harness full .claude/settings.json claude
echo '{"sandbox":' >"$T_TMP/s.json"
harness undecided "$T_TMP/s.json" claude "--settings=$T_TMP/s.json"
t_case Gemini
harness full 'nothing turns' gemini
harness native --sandbox gemini -s
run env GEMINI_SANDBOX=false "$CK" worker exec --explain --json -- gemini -s
expect_json answer full
echo '{"tools":{"sandbox":"docker"}}' >"$T_HOME/.gemini/settings.json"
harness native .gemini/settings.json gemini
echo '{"sandbox":true}' >"$T_HOME/.gemini/settings.json"
harness native .gemini/settings.json gemini
echo 'x' >"$T_HOME/.gemini/settings.json"
harness undecided .gemini/settings.json gemini
t_case goose
harness full 'does not turn' goose
run env GOOSE_SANDBOX=1 "$CK" worker exec --explain --json -- goosed
expect_json answer native
run env GOOSE_SANDBOX=no "$CK" worker exec --explain --json -- goosed
expect_json answer full
t_case others
harness full 'no harness' opencode
expect_json harness other
run "$CK" worker codex --program ''
expect_status 2
run "$CK" worker codex --explain --status-fd 2
expect_status 2
