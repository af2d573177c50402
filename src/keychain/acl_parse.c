/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading ACL blobs (docs/keychain-format.md, sections 14 and 19, items 26 to
 * 28).  Their subjects do not tell their own length, so that the first one of
 * an unknown type ends the reading; nothing after it is guessed at.
 */
#include "acl.h"

#include <string.h>

#include "acl_wire.h"

/* Thresholds within thresholds, and subjects in one ACL.  Real ones have one
 * level and some ten subjects. */
#define DEPTH_MAX 8
#define SUBJECTS_MAX 4096

/* What the leaves of one subject are. */
struct found {
	bool any;
	bool prompt;
	bool other;              /* nested, or of a kind that has no shape */
	bool payload_alone;      /* the whole subject is a payload */
	size_t ncode;
	struct ck_span code[KC_ACL_TRUSTED_MAX];
	struct ck_span description;
	struct ck_span payload;
};

struct entry {
	struct found subject;
	struct ck_span tag;
	bool decrypt;
};

struct walk {
	struct ck_cursor c;
	unsigned int subjects;
};

/* Every element starts at a multiple of 4; the gap may hold anything. */
static ck_err
take_word(struct walk *w, uint32_t *ret)
{
	ck_err r;

	if ((r = ck_take_align4(&w->c)) != CK_OK)
		return r;
	return ck_take_u32(&w->c, ret);
}

static ck_err
take_counted(struct walk *w, struct ck_span *ret)
{
	uint32_t n;
	ck_err r;

	if ((r = take_word(w, &n)) != CK_OK)
		return r;
	return ck_take_bytes(&w->c, n, ret);
}

static ck_err
take_string(struct walk *w, struct ck_span *ret)
{
	ck_err r;

	if ((r = ck_take_align4(&w->c)) != CK_OK)
		return r;
	return ck_take_cstring(&w->c, ret);
}

static ck_err
take_code(struct walk *w, struct found *f)
{
	struct ck_span hash, bag;
	struct ck_cursor in = { CK_SPAN_NONE, 0 };
	uint32_t one;
	ck_err r;

	if ((r = take_word(w, &one)) != CK_OK)
		return r;
	if ((r = take_counted(w, &hash)) != CK_OK)
		return r;
	if ((r = take_counted(w, &bag)) != CK_OK)
		return r;
	if (one != 1 || hash.n != ACL_HASH_BYTES ||
	    f->ncode == KC_ACL_TRUSTED_MAX)
		return CK_UNSUPPORTED;
	in.in = bag;
	if ((r = ck_take_cstring(&in, &f->code[f->ncode])) != CK_OK)
		return r;
	f->ncode++;
	return CK_OK;
}

static ck_err
take_prompt(struct walk *w, uint32_t version, struct found *f)
{
	struct ck_span text;
	uint32_t selector;
	ck_err r;

	if (version > 1)
		return CK_UNSUPPORTED;
	/* Version 0 had no selector. */
	if (version == 1 && (r = take_word(w, &selector)) != CK_OK)
		return r;
	if ((r = take_string(w, &text)) != CK_OK)
		return r;
	if (!f->prompt)
		f->description = text;
	f->prompt = true;
	return CK_OK;
}

/* Two half words, user and group.  Nothing that we would show. */
static ck_err
take_process(struct walk *w, struct found *f)
{
	uint32_t word;
	ck_err r;

	for (int i = 0; i < 3; i++)
		if ((r = take_word(w, &word)) != CK_OK)
			return r;
	f->other = true;
	return CK_OK;
}

static ck_err
take_payload(struct walk *w, unsigned int depth, struct found *f)
{
	struct ck_span payload;
	ck_err r;

	if ((r = take_counted(w, &payload)) != CK_OK)
		return r;
	f->payload = payload;
	f->payload_alone = depth == 0;
	f->other = true;
	return CK_OK;
}

static ck_err take_subject(struct walk *w, unsigned int depth,
    struct found *f);

static ck_err
take_threshold(struct walk *w, unsigned int depth, struct found *f)
{
	uint32_t n, needed;
	ck_err r;

	if ((r = take_word(w, &n)) != CK_OK)
		return r;
	if ((r = take_word(w, &needed)) != CK_OK)
		return r;
	if (needed == 0 || needed > n)
		return CK_DAMAGED;
	if (depth > 0 || needed > 1)
		f->other = true;
	for (uint32_t i = 0; i < n; i++)
		if ((r = take_subject(w, depth + 1, f)) != CK_OK)
			return r;
	return CK_OK;
}

static ck_err
take_subject(struct walk *w, unsigned int depth, struct found *f)
{
	uint32_t word, version;
	ck_err r;

	if (depth > DEPTH_MAX || w->subjects == SUBJECTS_MAX)
		return CK_UNSUPPORTED;
	w->subjects++;
	if ((r = take_word(w, &word)) != CK_OK)
		return r;
	version = word >> ACL_VERSION_SHIFT;
	word &= ACL_TYPE_BITS;
	if (version != 0 && word != ACL_PROMPT)
		return CK_UNSUPPORTED;
	switch (word) {
	case ACL_ANY:
		f->any = true;
		return CK_OK;
	case ACL_CODE:
		return take_code(w, f);
	case ACL_THRESHOLD:
		return take_threshold(w, depth, f);
	case ACL_PROMPT:
		return take_prompt(w, version, f);
	case ACL_PROCESS:
		return take_process(w, f);
	case ACL_PAYLOAD:
		return take_payload(w, depth, f);
	default:
		return CK_UNSUPPORTED;
	}
}

static ck_err
take_rights(struct walk *w, bool *ret_decrypt)
{
	uint32_t every, n, right;
	ck_err r;

	if ((r = take_word(w, &every)) != CK_OK)
		return r;
	if (every != 0) {
		*ret_decrypt = true;
		return CK_OK;
	}
	if ((r = take_word(w, &n)) != CK_OK)
		return r;
	for (uint32_t i = 0; i < n; i++) {
		if ((r = take_word(w, &right)) != CK_OK)
			return r;
		if (right == ACL_DECRYPT)
			*ret_decrypt = true;
	}
	return CK_OK;
}

static ck_err
take_entry(struct walk *w, struct entry *ret)
{
	uint32_t delegate;
	ck_err r;

	memset(ret, 0, sizeof(*ret));
	if ((r = take_word(w, &delegate)) != CK_OK)
		return r;
	if ((r = take_subject(w, 0, &ret->subject)) != CK_OK)
		return r;
	if ((r = take_string(w, &ret->tag)) != CK_OK)
		return r;
	return take_rights(w, &ret->decrypt);
}

/* The owner and the number of entries that follow. */
static ck_err
take_head(struct walk *w, struct found *ret, uint32_t *ret_count)
{
	uint32_t delegate;
	ck_err r;

	memset(ret, 0, sizeof(*ret));
	if ((r = take_word(w, &delegate)) != CK_OK)
		return r;
	if ((r = take_subject(w, 0, ret)) != CK_OK)
		return r;
	return take_word(w, ret_count);
}

static enum kc_access
shape(const struct found *f)
{
	if (f->other)
		return KC_ACCESS_UNKNOWN;
	if (f->any)
		return KC_ACCESS_ANY;
	if (f->ncode > 0)
		return KC_ACCESS_TRUSTED;
	return f->prompt ? KC_ACCESS_NONE : KC_ACCESS_UNKNOWN;
}

static bool
tagged(const struct entry *e, const char *tag)
{
	return e->subject.payload_alone &&
	    ck_span_equal(e->tag, CK_SPAN_TEXT(tag));
}

/* Add one entry to info.  CK_UNSUPPORTED: a second of what there may be only
 * one of, or a digest of another size. */
static ck_err
note_entry(const struct entry *e, bool *decrypt_seen,
    struct kc_acl_info *info)
{
	const struct found *f = &e->subject;

	if (tagged(e, ACL_INTEGRITY_TAG)) {
		if (info->has_digest || f->payload.n != KC_DIGEST_BYTES)
			return CK_UNSUPPORTED;
		info->has_digest = true;
		memcpy(info->digest, f->payload.p, KC_DIGEST_BYTES);
	}
	if (tagged(e, ACL_PARTITION_TAG)) {
		if (info->has_partitions)
			return CK_UNSUPPORTED;
		info->has_partitions = true;
		info->partitions = f->payload;
	}
	if (!e->decrypt)
		return CK_OK;
	/* Two entries that let decrypt have no common name. */
	info->access = *decrypt_seen ? KC_ACCESS_UNKNOWN : shape(f);
	*decrypt_seen = true;
	info->ntrusted = 0;
	if (info->access == KC_ACCESS_TRUSTED) {
		info->ntrusted = f->ncode;
		memcpy(info->trusted, f->code, f->ncode * sizeof(f->code[0]));
	}
	return CK_OK;
}

static ck_err
inspect(struct ck_span acl, struct kc_acl_info *info)
{
	struct walk w = { { acl, 0 }, 0 };
	struct found owner;
	struct entry e;
	bool prompt, decrypt_seen = false;
	uint32_t count;
	ck_err r;

	if ((r = take_head(&w, &owner, &count)) != CK_OK)
		return r;
	info->description = owner.description;
	prompt = owner.prompt;
	info->entries = count;
	for (uint32_t i = 0; i < count; i++) {
		if ((r = take_entry(&w, &e)) != CK_OK)
			return r;
		if (e.subject.prompt && !prompt)
			info->description = e.subject.description;
		prompt = prompt || e.subject.prompt;
		if ((r = note_entry(&e, &decrypt_seen, info)) != CK_OK)
			return r;
	}
	return CK_OK;
}

void
kc_acl_inspect(struct ck_span acl, struct kc_acl_info *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->access = KC_ACCESS_UNKNOWN;
	if (inspect(acl, ret) == CK_OK) {
		ret->understood = true;
		return;
	}
	/* Half of an ACL would be a wrong statement about the whole. */
	memset(ret, 0, sizeof(*ret));
	ret->access = KC_ACCESS_UNKNOWN;
}

/* Where in acl the digest lies.  CK_OK with *ret_n 0: read to the end, none
 * there.  CK_UNSUPPORTED: none found in what can be read, or two. */
static ck_err
find_digest(struct ck_span acl, size_t *ret_at, size_t *ret_n)
{
	struct walk w = { { acl, 0 }, 0 };
	struct found owner;
	struct entry e;
	size_t at = 0, n = 0;
	uint32_t count;

	if (take_head(&w, &owner, &count) != CK_OK)
		return CK_UNSUPPORTED;
	for (uint32_t i = 0; i < count; i++) {
		if (take_entry(&w, &e) != CK_OK) {
			if (n == 0)
				return CK_UNSUPPORTED;
			break;
		}
		if (!tagged(&e, ACL_INTEGRITY_TAG))
			continue;
		if (n != 0 || e.subject.payload.n != KC_DIGEST_BYTES)
			return CK_UNSUPPORTED;
		n = e.subject.payload.n;
		at = (size_t)(e.subject.payload.p - acl.p);
	}
	*ret_at = at;
	*ret_n = n;
	return CK_OK;
}

ck_err
kc_acl_set_digest(struct ck_span acl, const uint8_t digest[KC_DIGEST_BYTES],
    struct ck_buf *out)
{
	size_t at, n;
	ck_err r;

	if ((r = find_digest(acl, &at, &n)) != CK_OK)
		return r;
	/* Room first, so that out gets all of it or nothing. */
	ck_buf_reserve(out, acl.n);
	if ((r = ck_buf_ok(out)) != CK_OK)
		return r;
	ck_buf_bytes(out, acl.p, at);
	ck_buf_bytes(out, digest, n);
	ck_buf_bytes(out, acl.p + at + n, acl.n - at - n);
	return ck_buf_ok(out);
}
