/* SPDX-License-Identifier: Apache-2.0 */
/* See help_vfs.h. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include <sqlite3.h>

#include "help_vfs.h"

static struct {
	unsigned long left;
	bool fired;
} memory;

static struct {
	unsigned long left;
	bool again, fired, reads;
	int rc;
} files;

static sqlite3_mem_methods real_memory;
static sqlite3_vfs *real_vfs;
static sqlite3_vfs our_vfs;
static const sqlite3_io_methods *real_io;
static sqlite3_io_methods our_io;

static bool
memory_is_due(void)
{
	if (memory.left == 0 || --memory.left != 0)
		return false;
	memory.fired = true;
	return true;
}

static void *
fault_malloc(int n)
{
	return memory_is_due() ? NULL : real_memory.xMalloc(n);
}

static void *
fault_realloc(void *p, int n)
{
	return memory_is_due() ? NULL : real_memory.xRealloc(p, n);
}

void
help_memory_fail(unsigned long n)
{
	memory.left = n;
	if (n > 0)
		memory.fired = false;
}

bool
help_memory_fired(void)
{
	return memory.fired;
}

static bool
file_is_due(bool read)
{
	if (files.reads != read || files.left == 0)
		return false;
	if (files.left > 1) {
		files.left--;
		return false;
	}
	if (!files.again)
		files.left = 0;
	files.fired = true;
	return true;
}

void
help_file_fail(unsigned long n, int rc, bool again)
{
	files.left = n;
	files.rc = rc;
	files.again = again;
	files.reads = false;
	if (n > 0)
		files.fired = false;
}

void
help_read_fail(unsigned long n, int rc)
{
	help_file_fail(n, rc, false);
	files.reads = true;
}

bool
help_file_fired(void)
{
	return files.fired;
}

static int
io_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
	return file_is_due(true) ? files.rc : real_io->xRead(f, p, n, at);
}

static int
io_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
	return file_is_due(false) ? files.rc : real_io->xWrite(f, p, n, at);
}

static int
io_truncate(sqlite3_file *f, sqlite3_int64 n)
{
	return file_is_due(false) ? files.rc : real_io->xTruncate(f, n);
}

static int
io_sync(sqlite3_file *f, int flags)
{
	return file_is_due(false) ? files.rc : real_io->xSync(f, flags);
}

/* As a real file, which keeps the errno of a call that failed. */
static int
io_control(sqlite3_file *f, int op, void *arg)
{
	if (op == SQLITE_FCNTL_LAST_ERRNO && files.reads && files.fired) {
		*(int *)arg = EIO;
		return SQLITE_OK;
	}
	return real_io->xFileControl(f, op, arg);
}

/* The files stay the real ones; only their table of functions is ours, with
 * five of them replaced. */
static int
vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags,
    int *ret_flags)
{
	int rc;

	(void)vfs;
	if (file_is_due(false)) {
		f->pMethods = NULL;
		return SQLITE_CANTOPEN;
	}
	rc = real_vfs->xOpen(real_vfs, name, f, flags, ret_flags);
	if (rc != SQLITE_OK || f->pMethods == NULL)
		return rc;
	if (real_io == NULL) {
		real_io = f->pMethods;
		our_io = *real_io;
		our_io.xRead = io_read;
		our_io.xWrite = io_write;
		our_io.xTruncate = io_truncate;
		our_io.xSync = io_sync;
		our_io.xFileControl = io_control;
	}
	if (f->pMethods == real_io)
		f->pMethods = &our_io;
	return rc;
}

static int
vfs_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	(void)vfs;
	return file_is_due(false) ? files.rc :
	    real_vfs->xDelete(real_vfs, name, sync);
}

void
help_vfs_install(void)
{
	sqlite3_mem_methods ours;

	assert_int_equal(sqlite3_config(SQLITE_CONFIG_GETMALLOC,
	    &real_memory), SQLITE_OK);
	ours = real_memory;
	ours.xMalloc = fault_malloc;
	ours.xRealloc = fault_realloc;
	assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &ours),
	    SQLITE_OK);
	/* Small requests must come to us too. */
	assert_int_equal(sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0),
	    SQLITE_OK);
	assert_int_equal(sqlite3_initialize(), SQLITE_OK);
	real_vfs = sqlite3_vfs_find(NULL);
	assert_non_null(real_vfs);
	our_vfs = *real_vfs;
	our_vfs.zName = "faults";
	our_vfs.pNext = NULL;
	our_vfs.xOpen = vfs_open;
	our_vfs.xDelete = vfs_delete;
	assert_int_equal(sqlite3_vfs_register(&our_vfs, 1), SQLITE_OK);
}
