/* SPDX-License-Identifier: Apache-2.0 */
/* See deadline.h. */
#include "deadline.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Time to write an answer when the store was slow, in milliseconds. */
#define ANSWER_MS 150

static struct {
	atomic_bool answered;      /* by whoever came first */
	unsigned int ms;
	const char *out, *err;
	int status;
} deadline;

static void
sleep_for(unsigned int ms)
{
	struct timespec left = { (time_t)(ms / 1000),
	    (long)(ms % 1000) * 1000000L };

	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		continue;
}

/* The texts are shorter than a pipe has room when it has any. */
static void
say(int fd, const char *text)
{
	struct pollfd ready = { fd, POLLOUT, 0 };

	if (text[0] != '\0' && poll(&ready, 1, 0) == 1)
		(void)!write(fd, text, strlen(text));
}

static void *
wait_for_it(void *arg)
{
	(void)arg;
	sleep_for(deadline.ms);
	/* The caller is about to answer; who does not read the answer does not
	 * keep it from ending either. */
	if (atomic_exchange(&deadline.answered, true)) {
		sleep_for(ANSWER_MS);
	} else {
		say(STDOUT_FILENO, deadline.out);
		say(STDERR_FILENO, deadline.err);
	}
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
