/* SPDX-License-Identifier: GPL-2.0-only */
/* Control words that the daemon writes, and the counters of packets passed to the kernel. */
#pragma once

#include "kernel.h"
#include "reason.h"

/* Mapped into user space; read on every packet, so all of it shares a cache line. */
struct control {
	/* raised by every change of rules, routes, links: ends all proofs. Never 0 */
	__u32 epoch;
	/* jiffies after which the daemon counts as dead; written by the `beat` program */
	__u32 deadline;
	/*
	 * jiffies until which nothing is proven: packets judged before the change are still under
	 * way
	 */
	__u32 quiet_until;
	__u32 armed;   /* 0: all packets go to the kernel */
	__u32 hops;    /* hops handed out so far */
	__u32 now;     /* jiffies at the last beat */
	__u32 capture; /* 0: nothing is captured */
	__u32 drops;   /* 0: nothing is dropped early */
	__u32 bridge;  /* 0: nothing is bridged; see bridge_part.h */
	__u32 paths;   /* raised when a port comes or goes: packets may have passed unseen */
	__u32 reserved[6];
};
_Static_assert(sizeof(struct control) == 64, "control: one cache line");
