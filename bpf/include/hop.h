/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hops: an adjacency, shared by many flows: the egress device and the bytes that the kernel itself
 * put before the IP header. Written by the egress witness; user space raises the epoch when the
 * neighbour behind it changes.
 */
#pragma once

#include "kernel.h"

#define HOP_HEADER_MAX 32 /* Ethernet 14 + QinQ or a switch's tag and VLAN 8 + PPPoE 8 */
#define HOPS_MAX 4096

/*
 * Identity of a hop. The header starts at 2 modulo 4, as in a frame, so that words of both are
 * aligned alike.
 */
struct hop_key {
	__u32 ifindex; /* out device */
	__u8 len;      /* of header: 14, and 4 for each VLAN tag, and 8 for PPPoE */
	__u8 form;     /* HOP_TAGS, HOP_PPPOE */
	/* as on the wire, ends where IP begins; PPPoE length and unused bytes 0 */
	__u8 header[HOP_HEADER_MAX];
	/*
	 * the kernel fills frames up to so many bytes before it hands them to the device; 0: it
	 * does not
	 */
	__u8 least;
	__u8 able; /* enum able */
};
_Static_assert(sizeof(struct hop_key) == 40, "hop_key");

struct hop {
	__u32 epoch; /* added to the global epoch: see flow.proof */
	__u32 flags; /* HOP_* */
	struct hop_key key;
	__u64 packets; /* proofs given: packets the kernel itself sent this way while proving */
	__u32 slot;    /* of the out device, in `ports` and `transmit` */
	__u32 reserved;
};
_Static_assert(sizeof(struct hop) == 64, "hop");

/*
 * TC's features for a link-layer header: nothing moves by 2 bytes (qca), no super-packet is split
 * behind PPPoE or by a switch, and next to the tag of a switch nothing else is put into the frame.
 */
enum able {
	ABLE_TC = 1 << 0,
	ABLE_SUPER = 1 << 1, /* with super-packets, too */
};

enum hop_form {
	HOP_TAGS = 3,       /* number of VLAN tags */
	HOP_PPPOE = 1 << 2, /* the length of each packet must be put in */
	/* of a bridge: addresses and EtherType, which are 0 here, are those of each frame */
	HOP_BRIDGED = 1 << 3,
	HOP_DSA =
		15 << 4, /* enum dsa_kind of the tag, if there is one: all that is left of a byte */
};

#define HOP_DSA_SHIFT 4

enum hop_flags {
	HOP_LIVE = 1 << 0,
	HOP_XDP = 1 << 1, /* XDP may send: taken from the port when the hop was learned */
};
