/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Handover of a frame that is not routed but may be bridged. The programs that take the frame
 * (bridge_path.h) are loaded only with the option `bridge`; user space puts them into these tables.
 * Without the option `bridging` is 0, and the verifier drops all of this.
 */
#pragma once

#include "maps.h"
#include "sum.h"

const volatile __u32 bridging; /* frames that a bridge passes on may be forwarded */

/* Programs to which weir_xdp_onward continues: one. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} xdp_parts SEC(".maps");

/*
 * Reasons against routing a frame that do not prevent bridging it: another address, no IP, and
 * PPPoE that stays in place here.
 */
always_inline int bridge_may(int reason)
{
	return (reason == REASON_NOT_OURS || reason == REASON_ETHERTYPE || reason == REASON_PORT) &&
	       READ_ONCE(control.bridge);
}

/* Comes back only if the frame is not for a bridge. */
always_inline void bridge_later_xdp(struct xdp_md *ctx, int reason)
{
	if (bridge_may(reason))
		bpf_tail_call(ctx, &xdp_parts, 0);
}

always_inline void bridge_later_tc(struct __sk_buff *skb, int reason)
{
	if (bridging && bridge_may(reason))
		bpf_tail_call(skb, &parts, PART_BRIDGE);
}

/*
 * Returns true for a frame that a bridge sends. For such a frame the kernel remembers the member at
 * which the frame came in. For a frame handed up to the bridge's own device, to be routed, the
 * kernel remembers that device.
 */
always_inline int bridge_sends(const struct __sk_buff *skb)
{
	struct port *port;
	__u32 slot;

	if (!bridging || !READ_ONCE(control.bridge) || !skb->ingress_ifindex)
		return 0;
	port = port_find(skb->ingress_ifindex, &slot);
	return port && port->flags & PORT_BRIDGES;
}
