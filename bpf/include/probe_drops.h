/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Probe `drops`: packets that the kernel freed instead of delivering, by its own reason
 * (include/net/dropreason-core.h). A packet that came in counts for the port and the station that
 * it came from, also when it is dropped on its way out; one that has the header already with which
 * it is to leave, for the port and the station that it was meant for.
 */
#pragma once

#include "probe.h"

PROBE_COUNTER(drops, 2048);

enum skb_drop_reason___weir {
	SKB_CONSUMED = 0xffff, /* of the running kernel, once loaded */
};

/* Arguments of the tracepoint: the skb, where it was freed, why (include/trace/events/skb.h). */
SEC("tp_btf/kfree_skb")
int drops__kfree_skb(__u64 *arguments)
{
	struct sk_buff___weir *skb = (void *)arguments[0];
	struct net_device___weir *dev = skb->dev;
	struct probe_key key = {};
	struct probe_addresses addresses;
	__u32 came_in;

	key.label = arguments[2];
	if (!probe_ours(dev))
		return 0;
	/* Newer kernels show by the reason that a packet was delivered after all. */
	if (bpf_core_enum_value_exists(enum skb_drop_reason___weir, SKB_CONSUMED) &&
	    key.label == bpf_core_enum_value(enum skb_drop_reason___weir, SKB_CONSUMED))
		return 0;
	came_in = skb->skb_iif;
	key.link = came_in ? came_in : dev->ifindex;
	if (probe_ethernet(skb, &addresses)) {
		if (probe_own(dev, addresses.source)) {
			key.link = dev->ifindex;
			probe_station(&key, addresses.destination);
		} else {
			probe_station(&key, addresses.source);
		}
	}
	probe_add(drops, &key, probe_packets(skb));
	return 0;
}
