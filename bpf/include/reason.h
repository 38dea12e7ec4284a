/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Why a packet went to the kernel instead of over the fast path, or why the egress witness refused
 * a proof. The order is part of the interface: user space indexes `passed` with it and names it by
 * the enumerator.
 */
#pragma once

#include "kernel.h"

enum reason {
	REASON_NONE = 0, /* forwarded, or nothing to say */
	/* the packet */
	REASON_PORT,   /* the device is not one of weir's ports, or is switched off */
	REASON_SILENT, /* the daemon's heartbeat is overdue */
	/*
	 * not addressed to this port's MAC: broadcast, multicast, bridged; or, at a bridge, from no
	 * station's MAC
	 */
	REASON_NOT_OURS,
	/* neither IPv4 nor IPv6, or behind an encapsulation weir does not parse */
	REASON_ETHERTYPE,
	/* a switch's tag that weir does not know, or that concerns the switch itself */
	REASON_TAG,
	REASON_TRUNCATED, /* headers longer than the frame */
	REASON_HEADER,    /* version, length or checksum of the IP header is wrong */
	REASON_OPTIONS,   /* IPv4 options, IPv6 extension headers */
	REASON_FRAGMENT,  /* any fragment, including the first */
	REASON_PROTOCOL,  /* neither TCP nor UDP */
	REASON_TTL,       /* TTL or hop limit 1 or less */
	REASON_TCP_FLAGS, /* SYN, FIN or RST: conntrack decides */
	/* the flow */
	REASON_UNKNOWN, /* no record of this flow */
	/* known, but the kernel has not been seen to forward it since the last change */
	REASON_UNPROVEN,
	REASON_MOVED, /* arrived at another port, or with other tags, than the proof */
	/* of a PPPoE session, but not from the station that the kernel sends its packets to */
	REASON_SESSION,
	REASON_TOS,     /* another DSCP than the proof */
	REASON_LABEL,   /* another IPv6 flow label than the proof: paths may be chosen by it */
	REASON_TTL_NEW, /* a TTL outside of what was proven */
	REASON_LENGTH,  /* longer than what the kernel was seen to send unfragmented */
	/*
	 * this hook cannot send it: a qdisc, no XDP transmit, or a header that cannot be made
	 * here
	 */
	REASON_HOOK,
	REASON_HOP, /* the hop is gone */
	/*
	 * a FIN or RST that neither end can have sent, by its sequence numbers, and without a
	 * proof: dropped
	 */
	REASON_WINDOW,
	REASON_DROPPED, /* dropped early, as netfilter or a route would: see drop.h */
	/* the witness */
	REASON_NOT_SEEN,  /* left, but no matching packet was seen at ingress */
	REASON_DECRYPTED, /* arrived encrypted: only the kernel knows if it must be */
	/*
	 * a wrong checksum of layer 4: conntrack does not track it, so marks and rules may have
	 * differed
	 */
	REASON_CHECKSUM,
	REASON_HELD,        /* a FIN, RST or change a moment ago */
	REASON_QUIET,       /* a change is settling */
	REASON_TTL_CHANGED, /* left with a TTL other than one less */
	REASON_TOS_CHANGED, /* left with another TOS */
	REASON_HOPS_FULL,   /* no room for another hop */
	REASON_DIFFERS,     /* left another way than proven: proof withdrawn */
	REASON_ONCE,        /* left by a bridge, which may have flooded it: the next packet shows */
	/* weir cannot give this link-layer header to a device with a qdisc that shapes */
	REASON_QDISC,
	REASON_SHADOW, /* shadow mode: would have been forwarded */
	REASON_COUNT,
};

/*
 * A reason, put into its register where it is found. Else the compiler does that before each
 * comparison, and a packet that passes them all pays for every reason that did not hold.
 */
always_inline int because(int reason)
{
	asm volatile("");
	return reason;
}
