/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Probe `tcp-retransmits`: segments that sockets of this router sent again, by the port that they
 * leave by and the state of the connection. Forwarded segments have no socket here.
 */
#pragma once

#include "probe.h"

PROBE_COUNTER(tcp_retransmits, 512);

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock_common___weir {
	unsigned char skc_state;
	possible_net_t___weir skc_net;
};

struct dst_entry___weir {
	struct net_device___weir *dev;
};

struct sock___weir {
	struct sock_common___weir __sk_common;
	struct dst_entry___weir *sk_dst_cache;
};

#pragma clang attribute pop

/* Arguments: the socket, the segment (include/trace/events/tcp.h). */
SEC("tp_btf/tcp_retransmit_skb")
int tcp_retransmits__retransmit(__u64 *arguments)
{
	struct sock___weir *sk = (void *)arguments[0];
	struct dst_entry___weir *route;
	struct probe_key key = {};

	if (!probe_in(sk->__sk_common.skc_net.net))
		return 0;
	key.label = sk->__sk_common.skc_state;
	route = sk->sk_dst_cache;
	if (route)
		key.link = route->dev->ifindex;
	probe_add(tcp_retransmits, &key, 1);
	return 0;
}
