// SPDX-License-Identifier: GPL-2.0-only
/*
 * The meter: two programs at TC of each port. At ingress the meter runs behind the packet path, at
 * egress before the witness, so that packets that weir forwards itself, and counts in its own
 * records, are not counted again. An object of its own: it works without forwarding, too.
 */
#include "include/meter_path.h"
#include "include/ours.h"

SEC("tc")
int weir_meter_in(struct __sk_buff *skb)
{
	meter_packet(skb, METER_SENT);
	return TC_ACT_UNSPEC;
}

SEC("tc")
int weir_meter_out(struct __sk_buff *skb)
{
	/* Sent by weir_tc: the witness, which comes next, takes the sign off. */
	if (skb->cb[0] == OURS_0 && skb->cb[1] == OURS_1)
		return TC_ACT_UNSPEC;
	meter_packet(skb, METER_RECEIVED);
	return TC_ACT_UNSPEC;
}

struct meter_clock {
	__u32 now; /* jiffies */
};

/* The kernel's clock, in which records note their last use: run by user space. */
SEC("syscall")
int weir_meter_clock(struct meter_clock *ctx)
{
	ctx->now = meter_now();
	return 0;
}

/* Layout of the ring's samples, for user space. */
struct meter_sample meter_sample_layout;

char _license[] SEC("license") = "GPL";
