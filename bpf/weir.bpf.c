// SPDX-License-Identifier: GPL-2.0-only
/*
 * The packet path: three programs at the hooks (XDP, TC ingress, TC egress), those that these go on
 * with, and one that keeps the clock.
 */
#include "include/bridge_path.h"
#include "include/tc.h"
#include "include/witness.h"
#include "include/xdp.h"

/*
 * The heartbeat, run by the daemon twice a second: only here is the kernel's clock available at no
 * cost. With `quiet` it also opens a pause without new proofs, after a change of rules or routes.
 * Proofs that the kernel will decide differently from a known time on end by its own clock, however
 * late the daemon is: at `most`.
 */
struct beat {
	__u32 quiet; /* jiffies from now */
	__u32 bump;  /* raise the epoch by this much first: 0 or 1 */
	/* jiffies, this one included, for which proofs hold at most; 0: proofs have ended */
	__u32 most;
};

SEC("syscall")
int weir_beat(struct beat *ctx)
{
	__u32 t = now();

	/*
	 * The pause begins before the new epoch can be seen. Between bumps its end keeps up with
	 * the clock: left behind by half the range of jiffies (25 days at 1000 Hz), it would seem
	 * to lie ahead.
	 */
	if (ctx->quiet)
		WRITE_ONCE(control.quiet_until, t + ctx->quiet);
	else if (!later(READ_ONCE(control.quiet_until), t))
		WRITE_ONCE(control.quiet_until, t);
	if (ctx->bump)
		__sync_fetch_and_add(&control.epoch, 1);
	WRITE_ONCE(control.now, t);
	/* Up to the deadline, and in its jiffy, packets are forwarded. */
	WRITE_ONCE(control.deadline, t + (ctx->most < silence ? ctx->most - 1 : silence));
	return 0;
}

char _license[] SEC("license") = "GPL";
