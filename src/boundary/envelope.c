/* SPDX-License-Identifier: Apache-2.0 */
/* Grants to rules and to Seatbelt text; see envelope.h. */
#include "boundary/envelope.h"

#include <stdio.h>
#include <string.h>

#include "boundary/policy.h"
#include "boundary/policy_rules.h"
#include "boundary/seatbelt.h"

static const char *const levels[CK_LEVEL_COUNT] = {
	[CK_LEVEL_PORTAL] = "portal",
	[CK_LEVEL_WORKERS] = "workers",
	[CK_LEVEL_SHELL] = "shell"
};

const char *
ck_level_name(enum ck_level level)
{
	return (unsigned int)level < CK_LEVEL_COUNT ? levels[level] :
	    "unknown";
}

ck_err
ck_level_find(const char *name, enum ck_level *ret, struct ck_fail *fail)
{
	for (int i = 0; i < CK_LEVEL_COUNT; i++)
		if (strcmp(name, levels[i]) == 0) {
			*ret = (enum ck_level)i;
			return CK_OK;
		}
	if (strcmp(name, "screen") != 0)
		return ck_fail_set(fail, CK_USAGE, name,
		    "is no level: portal, workers or shell");
	(void)ck_fail_set(fail, CK_NOENFORCE, name,
	    "cannot be bounded: screen access lies outside of every envelope");
	ck_fail_next(fail, "prepare portal, workers or shell");
	return CK_NOENFORCE;
}

#define WRITES (CK_OPS(WRITE_ANY) | CK_OPS(WRITE_ACL) |                       \
	CK_OPS(WRITE_CREATE) | CK_OPS(WRITE_DATA) | CK_OPS(WRITE_FLAGS) |     \
	CK_OPS(WRITE_MODE) | CK_OPS(WRITE_OWNER) | CK_OPS(WRITE_TIMES) |      \
	CK_OPS(WRITE_UNLINK) | CK_OPS(WRITE_XATTR))
#define OTHER_NAMES (CK_OPS(LINK) | CK_OPS(CLONE) | CK_OPS(MOUNT))
#define READS (CK_OPS(READ_DATA) | CK_OPS(READ_XATTR) | CK_OPS(MAP_EXECUTABLE))
/* Granted as a whole; a clone or a link is made from what can be read, to where
 * can be written. */
#define USE (CK_OPS(READ_ANY) | CK_OPS(MAP_EXECUTABLE))
#define WORK (USE | CK_OPS(WRITE_ANY) | CK_OPS(LINK) | CK_OPS(CLONE))
#define SOCKETS (CK_OPS(NETWORK_OUTBOUND) | CK_OPS(NETWORK_INBOUND) |         \
	CK_OPS(NETWORK_BIND))

/* Of macOS, where these exist and are the owner's no more than anybody's.  A
 * boundary on Linux binds its own: ck_envelope_system(). */
static const char *const readable[] = {
	"/System", "/usr", "/bin", "/sbin", "/Library/Apple", "/private/etc"
};
static const char *const devices[] = {
	"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/tty",
	"/dev/ptmx"
};

struct build {
	struct ck_policy *p;
	struct ck_fail *fail;
	ck_err r;                /* the first error; then nothing is added */
};

static void
add(struct build *b, enum ck_effect effect, ck_ops ops, enum ck_filter filter,
    const char *path, const char *why)
{
	const struct ck_rule rule = {
		.effect = effect, .ops = ops, .filter = filter, .path = path,
		.part = path == NULL ? CK_PART_BASE : CK_PART_TARGET,
		.why = why
	};

	if (b->r == CK_OK)
		b->r = ck_policy_add(b->p, &rule, b->fail);
}

static void
control(struct build *b, const struct ck_envelope *e, enum ck_effect effect,
    ck_ops ops, const char *name, const char *why)
{
	char path[CK_PATH_MAX];

	if (b->r == CK_OK &&
	    (b->r = ck_path_join(e->control, name, path, b->fail)) == CK_OK)
		add(b, effect, ops, CK_FILTER_LITERAL, path, why);
}

static void
grants(struct build *b, const struct ck_envelope *e)
{
	for (size_t i = 0; i < sizeof(readable) / sizeof(*readable); i++)
		add(b, CK_ALLOW, USE, CK_FILTER_SUBPATH, readable[i],
		    "the system");
	/* Programs give up when they cannot list it. */
	add(b, CK_ALLOW, CK_OPS(READ_DATA), CK_FILTER_LITERAL, "/", "the root");
	for (size_t i = 0; i < sizeof(devices) / sizeof(*devices); i++)
		add(b, CK_ALLOW, CK_OPS(READ_ANY) | CK_OPS(WRITE_ANY),
		    CK_FILTER_LITERAL, devices[i], "a device");
	add(b, CK_ALLOW, USE, CK_FILTER_SUBPATH, e->runtime, "the runtime");
	for (size_t i = 0; i < e->nfiles; i++)
		add(b, CK_ALLOW, USE, CK_FILTER_LITERAL, e->file[i],
		    "a file of the runtime");
	add(b, CK_ALLOW, WORK, CK_FILTER_SUBPATH, e->home, "the private home");
	add(b, CK_ALLOW, SOCKETS, CK_FILTER_SUBPATH, e->home,
	    "sockets of the private home");
	for (size_t i = 0; i < e->nworkspaces; i++)
		add(b, CK_ALLOW, WORK, CK_FILTER_SUBPATH, e->workspace[i],
		    "a workspace");
	control(b, e, CK_ALLOW, CK_OPS(READ_ANY), CK_ENVELOPE_RECORD,
	    "the record of the envelope");
}

/* They are denied by default; these hold whatever is granted by mistake. */
static void
denies(struct build *b, const struct ck_envelope *e)
{
	static const char *const closed[] = {
		CK_ENVELOPE_PROBE, CK_ENVELOPE_PROFILE, CK_ENVELOPE_LAUNCH
	};

	/* It lies in /System, and everything of the owner's is below it. */
	add(b, CK_DENY, READS | WRITES | OTHER_NAMES, CK_FILTER_SUBPATH,
	    CK_DATA_VOLUME, "the owner's volume under its other name");
	for (size_t i = 0; i < sizeof(closed) / sizeof(*closed); i++)
		control(b, e, CK_DENY, READS, closed[i],
		    "a control file");
	add(b, CK_DENY, WRITES | OTHER_NAMES, CK_FILTER_SUBPATH, e->control,
	    "the control files");
}

ck_err
ck_policy_envelope(const struct ck_envelope *e, struct ck_policy **ret,
    struct ck_fail *fail)
{
	struct build b = { NULL, fail, CK_OK };

	if ((b.r = ck_policy_new(&b.p)) != CK_OK)
		return ck_fail_set(fail, b.r, NULL,
		    "no memory for a boundary");
	add(&b, CK_DENY, CK_OPS(DEFAULT), CK_FILTER_NONE, NULL,
	    "not granted");
	add(&b, CK_ALLOW, CK_OPS(FORK) | CK_OPS(EXEC), CK_FILTER_NONE, NULL,
	    "programs, as far as they can be read");
	add(&b, CK_ALLOW, CK_OPS(READ_METADATA) | CK_OPS(EXISTENCE),
	    CK_FILTER_NONE, NULL, "metadata stays visible");
	grants(&b, e);
	denies(&b, e);
	if (b.r == CK_OK && (b.r = ck_policy_agrees(b.p, fail)) == CK_OK) {
		*ret = b.p;
		b.p = NULL;
	}
	ck_policy_free(&b.p);
	return b.r;
}

/* What rules on files cannot say, each with the reason (integration.md 6.3,
 * sandbox-profiles.md 9.2). */
static const char basics[] =
    "; Processes of its own, and what every program asks the system.\n"
    "(allow signal process-info* (target same-sandbox))\n"
    "(allow dynamic-code-generation)\n"
    "(allow sysctl-read)\n"
    "(allow pseudo-tty)\n"
    "(allow file-ioctl\n"
    "    (literal \"/dev/tty\")\n"
    "    (literal \"/dev/ptmx\"))\n"
    "; Terminals that it opened itself: not those of others.\n"
    "(allow file-read* file-write* file-ioctl\n"
    "    (require-all\n"
    "        (regex \"^/dev/ttys[0-9]\")\n"
    "        (extension \"com.apple.sandbox.pty\")))\n"
    "(allow mach-lookup\n"
    "    (global-name \"com.apple.system.logger\")\n"
    "    (global-name \"com.apple.system.notification_center\")\n"
    "    (global-name \"com.apple.system.opendirectoryd.libinfo\"))\n";
static const char network[] =
    "; The network, to anywhere: no barrier against exfiltration.\n"
    "(allow system-socket)\n"
    "(allow network-outbound\n"
    "    (remote ip)\n"
    "    (literal \"/private/var/run/mDNSResponder\"))\n"
    "(allow network-bind network-inbound\n"
    "    (local ip))\n"
    "(allow mach-lookup\n"
    "    (global-name \"com.apple.trustd\")\n"
    "    (global-name \"com.apple.trustd.agent\")\n"
    "    (global-name \"com.apple.SystemConfiguration.configd\")\n"
    "    (global-name \"com.apple.SystemConfiguration.DNSConfiguration\"))\n";

ck_err
ck_envelope_seatbelt(const struct ck_envelope *e, struct ck_buf *out,
    struct ck_fail *fail)
{
	struct ck_policy *p = NULL;
	size_t start = out->n;
	ck_err r;

	if ((r = ck_policy_envelope(e, &p, fail)) != CK_OK)
		return r;
	ck_buf_text(out,
	    "; clankie-keys: the launch envelope of a service, for sandbox-exec "
	    "-f.\n; Do not edit: it is compared with the record before each "
	    "launch.\n(version 1)\n"
	    "(import \"/System/Library/Sandbox/Profiles/dyld-support.sb\")\n");
	r = ck_seatbelt_rules(p, out, fail);
	ck_policy_free(&p);
	if (r == CK_OK) {
		ck_buf_text(out, basics);
		if (e->network)
			ck_buf_text(out, network);
		if (ck_buf_ok(out) != CK_OK)
			r = ck_fail_set(fail, CK_NOMEM, NULL,
			    "no memory for the text of the envelope");
	}
	if (r != CK_OK)
		out->n = start;
	return r;
}
