/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Flows: one record per direction. A record is *known* from conntrack (user space writes key,
 * translation and the peer in `trials`, then owner), *seen* at ingress (trial) and *proven* at
 * egress (witness.h). Only a proven record forwards.
 *
 * IPv4 records are one cache line, IPv6 records two. FLOW_WAYS of them are a bucket; a flow lives
 * in one of two buckets.
 */
#pragma once

#include "kernel.h"

#define FLOW_WAYS 4

enum flow_state { /* low byte of owner; the rest counts the lives of the slot */
	FLOW_FREE = 0,
	FLOW_CLAIMED = 1, /* being written */
	FLOW_LIVE = 2,
	FLOW_RETIRED = 3, /* resting until no packet can still be reading it */
};

struct flow_key4 {
	__be32 saddr, daddr;
	__be16 sport, dport;
	__u8 proto, reserved[3];
};
_Static_assert(sizeof(struct flow_key4) == 16, "flow_key4");

/*
 * Replaces the IP protocol: two stations of a bridge, in a record like that of an IPv4 flow. The
 * key holds both hardware addresses, see bridge_key. No TCP or UDP flow has this number (reserved
 * by IANA).
 */
#define FLOW_BRIDGED 255

struct flow_key6 {
	__be32 saddr[4], daddr[4];
	__be16 sport, dport;
	__u8 proto, reserved[3];
};
_Static_assert(sizeof(struct flow_key6) == 40, "flow_key6");

struct flow_nat4 { /* the tuple as it leaves */
	__be32 saddr, daddr;
	__be16 sport, dport;
};
struct flow_nat6 {
	__be32 saddr[4], daddr[4];
	__be16 sport, dport;
};

/* TTL is the high byte of its word: minus one is plus the complement of 0x0100. */
#define TTL_DELTA bpf_htons(0xfeff)

/*
 * Changes of checksums by forwarding, one's complement: the growth of each, its complement taken;
 * folded.
 */
struct flow_delta {
	__u16 l3; /* of an IPv4 header: addresses, and a TTL one lower */
	__u16 l4; /* of UDP and TCP: addresses and ports; 0 where nothing changes */
};

/*
 * Part that both families share. `proven` fields are written by the egress witness while proof is
 * 0, and read by the hit path.
 */
struct flow {
	/* packets << 40 | bytes of IP packets; user space adds it up before either part wraps */
	__u64 count;
	__u32 owner; /* enum flow_state in the low byte */
	/*
	 * epoch + hop epoch when proven; 0: not proven. Both only rise, so one comparison covers
	 * both
	 */
	__u32 proof;
	__u64 in;    /* proven: where and behind what it comes in, see IN_* */
	__u16 hop;   /* proven: index into hops */
	__u16 len;   /* proven: longest IP packet that the kernel sent unfragmented, bytes */
	__u8 ttl_lo; /* proven: range of TTLs, at ingress, that the kernel lowered by one */
	__u8 ttl_hi; /* */
	/* proven: TOS or traffic class at ingress, without the ECN bits; and FLOW_TIMED */
	__u8 tos;
	__u8 flags; /* enum flow_flags */
};
_Static_assert(sizeof(struct flow) == 32, "flow");
_Static_assert(__builtin_offsetof(struct flow, ttl_lo) == 28 &&
		       __builtin_offsetof(struct flow, tos) == 30,
	       "FLOW_TIMED_WORD");

/*
 * A mark in `tos`, in a bit that no packet has: this record's TCP is timed (timing.h). The mark
 * makes every comparison fail, so that only packets of marked records ever look for it. It is set
 * and cleared in the aligned word that begins with ttl_lo; a witness that proves again clears it as
 * well.
 */
#define FLOW_TIMED 1
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define FLOW_TIMED_WORD ((__u32)FLOW_TIMED << 16)
#else
#define FLOW_TIMED_WORD ((__u32)FLOW_TIMED << 8)
#endif

/* The low byte of owner, by itself. */
always_inline __u8 flow_state(const struct flow *flow)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return ((const volatile __u8 *)&flow->owner)[0];
#else
	return ((const volatile __u8 *)&flow->owner)[3];
#endif
}

always_inline __u32 *flow_seen(struct flow *flow)
{
	return (__u32 *)&flow->ttl_lo;
}

/*
 * Origin of a packet, in one number: the port's slot, and every relevant bit of the link-layer
 * header. Tags count with priority and DEI, as the kernel may map these to a priority of its own.
 *
 * From the lowest bit: PPPoE session 16, inner TCI 16, outer TCI 16, slot 11, PPPoE 1, kind of the
 * inner tag 2, of the outer 2.
 */
#define IN_SESSION 0
#define IN_INNER 16
#define IN_OUTER 32
#define IN_SLOT 48
#define IN_PPPOE (1ull << 59)
#define IN_INNER_KIND 60
#define IN_OUTER_KIND 62

enum tag_kind {
	TAG_NONE = 0,
	TAG_VLAN = 1,    /* 802.1Q */
	TAG_SERVICE = 2, /* 802.1ad */
	TAG_SWITCH = 3,  /* of a DSA switch, always the outer one: its port in place of a TCI */
};

/*
 * All but the priorities of the tags, bits 13 to 15 of each and DEI, bit 12: another one is another
 * network, or port of a switch.
 */
#define IN_NETWORK (~((0xf000ull << IN_INNER) | (0xf000ull << IN_OUTER)))

enum flow_flags {
	FLOW_ADDR = 1 << 0, /* an address is translated */
	FLOW_PORT = 1 << 1, /* a port is translated */
	/*
	 * Set by the witness if the kernel sends the proven flow with a mark or a priority, which
	 * its trial keeps.
	 */
	FLOW_META = 1 << 2,
};

struct flow4 {
	struct flow f;
	struct flow_key4 key;
	struct flow_nat4 nat;
	struct flow_delta delta;
};
_Static_assert(sizeof(struct flow4) == 64, "flow4: one cache line");

struct flow6 {
	struct flow f;
	struct flow_key6 key;
	struct flow_nat6 nat;
	struct flow_delta delta;
	__be32 label; /* proven: flow label, which the kernel may choose among equal paths by */
	__u32 reserved[3];
};
_Static_assert(sizeof(struct flow6) == 128, "flow6: two cache lines");

/*
 * Tags for the search in a bucket, separate from the buckets and small enough for a cache: a hash
 * of 15 bits for each live record, by 16 bits, way 0 lowest; 0 for other records. A packet of an
 * unknown flow touches no record, one of a known flow rarely another one.
 */
#define TAG_BITS 16
#define TAG_LIVE 0x8000

struct bucket4 {
	struct flow4 way[FLOW_WAYS];
};
struct bucket6 {
	struct flow6 way[FLOW_WAYS];
};

/*
 * A flow's number: bucket * FLOW_WAYS + way, and the family. Also its index in `trials` (IPv6 after
 * all of IPv4).
 */
#define FLOW_REF_IPV6 (1u << 31)

/*
 * The cold half of a record, touched only while a flow is not proven: the observation at ingress,
 * and the witness' result. One packet at a time is on trial; a second one that overtakes it only
 * costs a proof, never makes a wrong one, because everything that must agree is compared again at
 * egress.
 */
struct trial {
	__u64 in;    /* as flow.in */
	__u32 peer;  /* reference of the other direction's record; written by user space */
	__u32 epoch; /* global epoch when the packet came in */
	__u32 when;  /* jiffies then */
	__u32 hold;  /* jiffies until which nothing is proven: a FIN or RST went by */
	/* skb mark and priority with which the kernel sent it: restored when forwarded at TC */
	__u32 mark;
	__u32 priority; /* */
	/* IP packet at ingress, bytes; of one segment where it was a super-packet */
	__u16 len;
	__u8 ttl;  /* */
	__u8 tos;  /* whole TOS or traffic class */
	__u8 held; /* hold is set */
	/* The last enum reason that kept this flow from being proven or forwarded. */
	__u8 reason;
	/* Egress hop of an earlier packet that may have been one of several copies. */
	__u16 once;
	__u32 once_at; /* what its proof would have been then; 0: it did not */
	__be32 label;  /* IPv6 flow label; of IPv4 0 */
	/* Last numbers of this end for both streams, see window.h. */
	__u32 seq;   /* of this end: behind the last byte */
	__u32 ack;   /* of the other end: received so far */
	__u32 own;   /* how far this direction had come then */
	__u32 other; /* and the other direction */
	__u32 asked; /* this acknowledgement answers a SYN of this end */
	__u16 paths; /* control.paths then */
	/*
	 * Window scale that this end announces (RFC 7323), plus one; 0: unknown, or windows are not
	 * checked.
	 */
	__u8 scale;
	__u8 sample;  /* enum window_sample */
	__u16 id;     /* IPv4 identification of the packet on trial; of IPv6 0 */
	__u16 window; /* the offered one, not scaled, see window.h */
	__u8 copied;  /* a packet left by two ways: one is no proof any more */
	__u8 reserved;
	__u16 asked_at; /* packets of both directions that had been forwarded at the SYN */
};
_Static_assert(sizeof(struct trial) == 80, "trial");
