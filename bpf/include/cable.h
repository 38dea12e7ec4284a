/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kinds of frames that come in at a port, noted while the port's purpose is unknown, and a gate
 * that keeps all frames from passing meanwhile, or later those of foreign servers.
 */
#pragma once

#include "kernel.h"

#define CABLES 32 /* ports watched at a time: a power of two */
#define CABLE_STATIONS 16
#define CABLE_VLANS 8
#define CABLE_OCTETS 320 /* of a frame kept as a text */
#define CABLE_OWN_MAX 256
#define CABLE_NO_VLAN 0xffff
/*
 * IPv6 extension headers of a packet that are followed: hosts never use as many. Each costs a
 * guarded port another read of the frame.
 */
#define CABLE_HEADERS 8
/* Marks a number as present, as its value may be 0: a MAC, a VLAN. */
#define CABLE_MAC_BIT 48
#define CABLE_VLAN_BIT 16

/*
 * Times to which a port is watched count 2^26 ns, 67 ms: one word, which a 32-bit processor writes
 * in one piece, and which lasts nine years.
 */
#define CABLE_TICK_BITS 26

/* Each frame is of one sort: the first that fits. modules/cables/core/src/frame_class.rs has this list. */
enum cable_sort {
	CABLE_OWN,                  /* from a hardware address of this router's own */
	CABLE_HELLO,                /* of weir's */
	CABLE_PADO,                 /* PPPoE: PADO, PADS */
	CABLE_PADI,                 /* PPPoE: PADI, PADR */
	CABLE_DHCP_SERVER,          /* BOOTP reply to port 68 */
	CABLE_DHCP_CLIENT,          /* BOOTP request to port 67 */
	CABLE_DHCP6_SERVER,         /* to port 546: clients ignore all others (RFC 7610, 5) */
	CABLE_ROUTER_ADVERTISEMENT, /* ICMPv6 134 */
	CABLE_ROUTER_SOLICITATION,  /* ICMPv6 133 */
	CABLE_LLDP,
	CABLE_CDP,
	CABLE_MNDP,
	CABLE_BATMAN,
	CABLE_BABEL,
	CABLE_ROUTING, /* OSPF, OLSR, RIP, BMX7 */
	CABLE_BPDU,    /* spanning tree, also per VLAN */
	CABLE_ARP,
	CABLE_IP, /* any other */
	CABLE_OTHER,
	CABLE_SORTS,
};

/*
 * In addition to a sort: the content of the frame is hidden from weir, and a host may find a
 * server's message in it all the same (RFC 7113, 3; RFC 7610, 5; CVE-2021-27853, 27854, 27861,
 * 27862).
 */
#define CABLE_HIDDEN 0x80

/* Sorts that only a server or a router sends. */
#define CABLE_SERVERS                                                         \
	(1 << CABLE_PADO | 1 << CABLE_DHCP_SERVER | 1 << CABLE_DHCP6_SERVER | \
	 1 << CABLE_ROUTER_ADVERTISEMENT)

/* Sorts of which the last frame is kept. */
enum cable_text_of {
	CABLE_TEXT_LLDP,
	CABLE_TEXT_CDP,
	CABLE_TEXT_MNDP,
	CABLE_TEXT_HELLO,
	CABLE_TEXTS,
};

enum cable_mode {
	CABLE_IDLE,
	CABLE_GROUPS, /* frames to groups are noted: all new speakers send some */
	CABLE_NOTED,  /* incoming frames are noted */
	CABLE_SHUT,   /* noted too, and nothing passes, in or out */
	/*
	 * Incoming frames are noted, except IP of no other sort; servers, and hidden contents, do
	 * not come in.
	 */
	CABLE_GUARD,
};

struct cable_note {
	__u64 last;   /* ns of the kernel's clock (CLOCK_MONOTONIC) */
	__u64 from;   /* MAC of the last, as a number; its VLAN from CABLE_MAC_BIT on */
	__u32 frames; /* all of them */
	__u32 reserved;
};
_Static_assert(sizeof(struct cable_note) == 24, "cable_note");

struct cable_text {
	__u32 sequence; /* odd while it is written */
	__u32 length;   /* octets kept; 0: none */
	__u8 octets[CABLE_OCTETS];
};
_Static_assert(sizeof(struct cable_text) == 328, "cable_text");

/* A port. 64-bit words are at multiples of 8 on every processor. */
struct cable {
	__u32 ifindex; /* 0: free */
	__u32 mode;    /* enum cable_mode */
	/*
	 * 2^26 ns of the kernel's clock: from then on the mode is CABLE_IDLE. A gate must not
	 * outlive the daemon that shut it.
	 */
	__u32 until;
	__u32 more; /* there were stations without a slot */
	/* frames that the gate stopped, incoming and outgoing */
	__u64 dropped_in, dropped_out;
	__u64 station[CABLE_STATIONS]; /* MAC as a number | 1 << CABLE_MAC_BIT; 0: free */
	__u32 vlan[CABLE_VLANS];       /* number | 1 << CABLE_VLAN_BIT; 0: free */
	struct cable_note note[CABLE_SORTS];
	struct cable_text text[CABLE_TEXTS];
	__u32 pad[6];
};
_Static_assert(sizeof(struct cable) == 31 * 64, "cable: whole cache lines");
