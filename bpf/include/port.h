/* SPDX-License-Identifier: GPL-2.0-only */
/* Ports: one per device, at index `ifindex & ports_mask`. Written by user space. */
#pragma once

#include "kernel.h"

enum port_flags {
	PORT_ON = 1 << 0, /* ours: forward incoming packets */
	/* takes XDP frames (ndo_xdp_xmit), and its qdisc may be passed by */
	PORT_XDP_TX = 1 << 1,
	PORT_OUT = 1 << 2,     /* flows may leave here */
	PORT_FLOODS = 1 << 3,  /* member of a bridge: egress packets may be flooded */
	PORT_DIRECT = 1 << 4,  /* its qdisc neither shapes nor classifies */
	PORT_PPP_IN = 1 << 5,  /* PPPoE may be removed from incoming packets */
	PORT_PPP_OUT = 1 << 6, /* and added to outgoing ones */
	/* Member of a bridge; frames may be forwarded between the bridge's members. */
	PORT_BRIDGES = 1 << 7,
	PORT_SEES_TAGS = 1 << 8, /* frames have all their tags at XDP */
};

#define PORT_MACS 4

/* An own hardware address. That of a VLAN device may differ from the one of the device below. */
struct port_mac {
	__u8 mac[6];
	/* Only for frames whose outermost VLAN id is this; of the first address: for all. */
	__u16 vlan;
};

struct port {
	__u32 ifindex; /* 0: free slot */
	__u32 flags;   /* enum port_flags */
	/* Stacked devices share a number: see `stacks`; 0: unknown. */
	__u32 stack;
	__u32 macs;                     /* addresses in use */
	struct port_mac mac[PORT_MACS]; /* frames for any other address go to the kernel */
	__u32 dsa;                      /* enum dsa_kind: a conduit */
	__u32 reserved[3];
};
_Static_assert(sizeof(struct port) == 64, "port: one cache line");

#define PORT_SLOT_BITS 11 /* at most 1 << 11 port slots: see `came in` in flow.h */
