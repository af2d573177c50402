/* SPDX-License-Identifier: Apache-2.0 */
/* See deadline.h. */
#include "deadline.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct {
	atomic_bool answered;      /* by whoever came first */
	unsigned int ms;
	const char *out, *err;
	int status;
} deadline;

static void *
wait_for_it(void *arg)
{
	struct timespec left = { (time_t)(deadline.ms / 1000),
	    (long)(deadline.ms % 1000) * 1000000L };

	(void)arg;
	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		continue;
	if (atomic_exchange(&deadline.answered, true))
		return NULL;
	(void)!write(STDOUT_FILENO, deadline.out, strlen(deadline.out));
	(void)!write(STDERR_FILENO, deadline.err, strlen(deadline.err));
	_exit(deadline.status);
}

ck_err
cli_deadline(unsigned int ms, const char *out, const char *err, int status,
    struct ck_fail *fail)
{
	pthread_t thread;
	int sys;

	deadline.ms = ms;
	deadline.out = out;
	deadline.err = err;
	deadline.status = status;
	if ((sys = pthread_create(&thread, NULL, wait_for_it, NULL)) != 0)
		return ck_fail_set(fail, CK_NOMEM, NULL,
		    "no thread can be had that keeps the time (error %d)",
		    sys);
	(void)pthread_detach(thread);
	return CK_OK;
}

void
cli_deadline_met(void)
{
	/* If it was over, the thread is about to end the process. */
	while (atomic_exchange(&deadline.answered, true))
		(void)pause();
}
