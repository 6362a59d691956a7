/* The worker's deadline: a timer whose signal stops a guest that computes past the end of its budget.

   QuickJS looks at a flag in every loop and call, so raising it is nearly always enough, and everything the program
   sent can still be read. A few native loops never poll; for those the handler answers in the worker's place and ends
   the process. There is no thread: the handler interrupts the only one, in the guest's code or in ours. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include "runner.h"

#define PATIENCE_US 15000u /* from the flag to the end of the process; polls are microseconds apart */
#define AGAIN_US 500u      /* until a frame that is being sent is out */
#define NO_DEADLINE UINT64_MAX

static void (*overdue)(void);
static uint64_t deadline = NO_DEADLINE;
static volatile sig_atomic_t is_computing, was_told;

static void ring_in(uint64_t us)
{
    struct itimerval timer = {{0, 0}, {(time_t)(us / 1000000), (suseconds_t)(us % 1000000)}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void on_alarm(int number)
{
    (void)number;
    int kept = errno;
    if (is_computing) {
        uint64_t now = cr_now_us();
        if (!was_told && now < deadline) /* the timer of the stretch before: it runs on, and came late */
            ring_in(deadline - now);
        else if (!was_told) {
            was_told = 1;
            cr_guest_interrupt();
            ring_in(PATIENCE_US);
        } else if (cr_line_is_busy())
            ring_in(AGAIN_US);
        else
            overdue();
    }
    errno = kept;
}

void cr_watchdog_start(void (*on_overdue)(void))
{
    overdue = on_overdue;
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
}

void cr_watchdog_arm(uint64_t deadline_us) { deadline = deadline_us; }

void cr_watchdog_enter(void)
{
    was_told = 0;
    is_computing = 1;
    uint64_t now = cr_now_us();
    ring_in(deadline > now ? deadline - now : 1);
}

void cr_watchdog_leave(void)
{
    is_computing = 0; /* the timer runs on; the handler then finds nothing to do, or the next stretch sets it anew */
}
