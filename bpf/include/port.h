/* SPDX-License-Identifier: GPL-2.0-only */
/* Ports: where did it come in? One per device, at index `ifindex & ports_mask`. Written by user space. */
#pragma once

#include "kernel.h"

enum port_flags {
	PORT_ON = 1 << 0,     /* ours: forward what comes in here */
	PORT_XDP_TX = 1 << 1, /* takes XDP frames (ndo_xdp_xmit), and its qdisc may be passed by */
	PORT_OUT = 1 << 2,    /* flows may leave here */
};

struct port {
	__u32 ifindex; /* 0: free slot */
	__u32 flags;   /* enum port_flags */
	__u8 mac[6];   /* frames for any other address go to the kernel */
	__u16 reserved;
};
_Static_assert(sizeof(struct port) == 16, "port");
