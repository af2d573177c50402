/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file broker of Clankie: a JSON object from provider id to credential,
 * shared with programs that rewrite it.  Values go in and out as raw JSON
 * text; an edit changes the bytes of one member and no other, under the
 * broker's own lock.
 *
 * The file must be a regular file of ours with one link, closed to group and
 * others, in a directory of ours that nobody else may write.  A wider mode is
 * refused, not repaired: the broker sets 0600 at every write, so somebody
 * else touched the file and the owner should know before it is used.
 */
#ifndef CK_STORE_BROKER_FILE_H
#define CK_STORE_BROKER_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/secret.h"
#include "store/broker_lock.h"

/* Largest file that is read. */
#define CK_BROKER_FILE_MAX CK_SECRET_MAX

/* Room for a provider id and its NUL. */
#define CK_PROVIDER_SIZE 256

/*
 * The broker's spelling of a provider id: white space trimmed, lower case,
 * no trailing slash.  CK_USAGE when nothing is left, when it is too long or
 * has control characters; CK_UNSUPPORTED for anything but ASCII, whose lower
 * case the broker might see differently.
 */
CK_MUST_USE ck_err ck_broker_provider(const char *id,
    char ret[CK_PROVIDER_SIZE], struct ck_fail *fail);

/*
 * In all functions below path is absolute and canonical (see
 * ck_path_canonical()); its last component is never followed.  provider is in
 * any spelling.  lock is the file's lock when the caller holds it already
 * (it is touched and kept), or NULL: taken for the call, waiting at most
 * CK_BROKER_LOCK_WAIT_MS, else CK_BUSY.
 *
 * CK_DAMAGED: the file is not a JSON object, has a key twice, or has a member
 * whose key is another spelling of provider (nobody can say which one counts).
 * CK_REFUSED: file or directory are not as above.  CK_UNSUPPORTED: too large
 * or too deep.  After an error the file has its old bytes, unless the reason
 * says otherwise: the directory could not be synced behind the replacement
 * (CK_IO), or another program overwrote it at once (CK_CHANGED).
 */

/*
 * The raw JSON text of the provider's value, whatever it is.  CK_ABSENT when
 * the object has no such member, and also when the file or its directory does
 * not exist, because the broker's contract calls that an empty store: use
 * this only where the records say that a file broker is meant.  Needs secure
 * memory for the file and the value, each rounded up to a power of two.
 */
CK_MUST_USE ck_err ck_broker_file_find(const char *path, const char *provider,
    struct ck_secret *ret_value, struct ck_fail *fail);

/*
 * Each member in the order of the file: its key in printable ASCII (other
 * bytes and the backslash as \xNN, cut where CK_PROVIDER_SIZE ends) and the
 * type of its credential: "api", "oauth", "wellknown", or "malformed" for an
 * entry that the broker would skip and drop.  bearer: something with the form
 * of an operator bearer stands in it.  A result that is not CK_OK ends it and
 * is returned.  A missing file has no members.
 */
typedef ck_err ck_broker_name_cb(void *arg, const char *name,
    const char *type, bool bearer);
CK_MUST_USE ck_err ck_broker_file_names(const char *path,
    ck_broker_name_cb *cb, void *arg, struct ck_fail *fail);

/*
 * The two edits need secure memory of up to 32 times the file's size for the
 * proof of the edit, and change nothing when they do not get it (CK_NOMEM).
 */

/*
 * Remove the provider's member if its value is still expected (the same bytes
 * or the same JSON), else CK_CHANGED.  CK_ABSENT when it is gone already.
 */
CK_MUST_USE ck_err ck_broker_file_erase(const char *path,
    const char *provider, const struct ck_secret *expected,
    struct ck_broker_lock *lock, struct ck_fail *fail);

/*
 * Would ck_broker_file_erase() be able to cut the member out?  Nothing is
 * locked or written.  CK_UNSUPPORTED: the file has JSON that cannot be proved
 * unchanged after an edit (1e999, half a surrogate pair).
 */
CK_MUST_USE ck_err ck_broker_file_erasable(const char *path,
    const char *provider, struct ck_fail *fail);

/*
 * Set the provider's value, which is JSON: an object, unless something else
 * was taken out of there.  CK_USAGE: it is none.  expected NULL: there is none yet;
 * else it is still expected.  CK_CHANGED when not so.  A value that is there
 * already is CK_OK without a write.  A missing file is made, and its
 * directory (0700) if that alone is missing.
 */
CK_MUST_USE ck_err ck_broker_file_put(const char *path, const char *provider,
    const struct ck_secret *value, const struct ck_secret *expected,
    struct ck_broker_lock *lock, struct ck_fail *fail);

/*
 * Could any file broker hold the value and give it back, meaning the same?
 * CK_UNSUPPORTED: it is no JSON, or has JSON that cannot be proved unchanged
 * after an edit.  No file is looked at; path is for the message.
 */
CK_MUST_USE ck_err ck_broker_file_could_hold(const char *path,
    const char *provider, const struct ck_secret *value,
    struct ck_fail *fail);

/*
 * Is the value of a kind that may follow before: an object, or what before is?
 * Programs that use the file take objects only and drop every other entry when
 * they write it.  CK_UNSUPPORTED otherwise.  path is for the message.
 */
CK_MUST_USE ck_err ck_broker_file_kind(const char *path, const char *provider,
    const struct ck_secret *value, const struct ck_secret *before,
    struct ck_fail *fail);

/*
 * Would ck_broker_file_put(), with expected NULL, be able to write the value?
 * Nothing is locked or written.  CK_UNSUPPORTED: the value is no JSON, or the
 * file has JSON that cannot be proved unchanged after an edit.
 */
CK_MUST_USE ck_err ck_broker_file_puttable(const char *path,
    const char *provider, const struct ck_secret *value,
    struct ck_fail *fail);

#endif
