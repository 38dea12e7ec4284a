/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The meter: traffic of a port, per conversation, without locks and without a copy per CPU.
 *
 * A record is one conversation at one port, seen from the *station*: the host beyond the port. The
 * station sent the packets that come in there, and receives those that go out, so that both ways
 * share a record without an order having to be chosen. IPv4 records are one cache line.
 *
 * The kernel side claims (FREE → CLAIMED → LIVE, compare-and-swap), user space retires (LIVE →
 * RETIRED → FREE, next life) when no packet can still be adding to the record. Two CPUs that miss
 * together make two records of one key; user space adds them up. A packet without a record is
 * counted for its station, and without a station for its port: nothing is ever uncounted.
 *
 * Packets that weir forwards itself are counted in its own records (flow.h) and never come here.
 */
#pragma once

#include "kernel.h"

#define METER_WAYS 4

/* low byte of owner; the rest counts the lives of the slot. As enum flow_state */
enum meter_state {
	METER_FREE = 0,
	METER_CLAIMED = 1,
	METER_LIVE = 2,
	METER_RETIRED = 3,
};

enum meter_way { /* direction of a packet, seen from the station */
	METER_SENT,
	METER_RECEIVED,
};

enum meter_flags {
	METER_HELLO = 1 << 0,   /* a TLS hello began, and continues in the next segment */
	METER_TIMED = 1 << 1,   /* meter_times has something */
	METER_WAITS = 1 << 2,   /* and 1 << 3: a segment of this way is timed, see meter_rtt.h */
	METER_OUTSIDE = 1 << 4, /* a packet for the station came from no device of meter_inside */
};

/* Packets << 40 | bytes of IP packets; user space adds it up before either part wraps. */
#define METER_PACKET (1ull << 40)

struct meter {
	__u64 count[2]; /* by enum meter_way */
	__u32 owner;    /* enum meter_state in the low byte */
	__u32 first;    /* jiffies of the first packet */
	__u32 last;     /* and of the last */
	__u8 mac[6];    /* of the station */
	__u8 tcp_flags; /* all that were seen, of both ways */
	__u8 flags;     /* enum meter_flags */
	__u8 link;      /* bytes before the IP header in the first packet */
	__u8 tos;       /* of the first packet */
	__u16 icmp;     /* type << 8 | code of the first packet */
};
_Static_assert(sizeof(struct meter) == 40, "meter");

/* Place word: protocol 8, slot of the port 11, VLAN id 12, from the lowest bit. */
#define WHERE_SLOT 8
#define WHERE_VLAN 19

struct meter_key4 {
	__be32 station, far;
	__be16 station_port, remote_port;
	__u32 where;
};
_Static_assert(sizeof(struct meter_key4) == 16, "meter_key4");

struct meter_key6 {
	__be32 station[4], far[4];
	__be16 station_port, remote_port;
	__u32 where;
};
_Static_assert(sizeof(struct meter_key6) == 40, "meter_key6");

struct meter4 {
	struct meter m;
	struct meter_key4 key;
	/* TCP: the sequence number behind all sent data, by enum meter_way; 0: none yet */
	__u32 highest[2];
};
_Static_assert(sizeof(struct meter4) == 64, "meter4: one cache line");

struct meter6 {
	struct meter m;
	struct meter_key6 key;
	__u32 highest[2];
	__u64 reserved[5];
};
_Static_assert(sizeof(struct meter6) == 128, "meter6: two cache lines");

struct meter_bucket4 {
	struct meter4 way[METER_WAYS];
};
struct meter_bucket6 {
	struct meter6 way[METER_WAYS];
};

/* A record's number: bucket * METER_WAYS + way, and the family. */
#define METER_REF_IPV6 (1u << 31)

/*
 * A station's packets without a record: IP packets for which no record was free, and other frames.
 * Counted as in a record.
 */
struct station {
	__u64 unplaced[2];
	__u64 other[2]; /* frames; bytes behind their headers */
	__u32 owner;    /* enum meter_state */
	__u32 where;    /* as in a key, protocol 0 */
	__u8 mac[6];
	__u16 reserved;
	__u32 last; /* jiffies */
	__u32 pad[3];
};
_Static_assert(sizeof(struct station) == 64, "station: one cache line");

struct station_bucket {
	struct station way[METER_WAYS];
};

/* Direction of a port. Off the fast path: whole numbers. */
struct meter_rest {
	__u64 unplaced, unplaced_octets; /* of stations for which there was no place either */
	__u64 other, other_octets;
	__s64 link; /* bytes of headers and padding, beyond the records' `link` */
	__u64 reserved[3];
};
_Static_assert(sizeof(struct meter_rest) == 64, "meter_rest");

/*
 * A port at which is counted, at index `ifindex & meter_ports_mask`. The first line is written by
 * user space.
 */
struct meter_port {
	__u32 ifindex; /* 0: free slot */
	__u32 flags;   /* enum meter_port_flags */
	__u32 reserved[14];
	struct meter_rest rest[2];
};
_Static_assert(sizeof(struct meter_port) == 192, "meter_port");

enum meter_port_flags {
	METER_RAW = 1 << 0,  /* no Ethernet header */
	METER_READ = 1 << 1, /* packets that carry names are copied */
};

/* Notifications to user space, through the ring. */
enum meter_news_kind {
	METER_NEW,   /* a record was claimed */
	METER_ENDED, /* a FIN or RST was seen */
	METER_SAMPLE /* a packet that may carry a name */
};

struct meter_news {
	__u32 kind; /* enum meter_news_kind */
	__u32 ref;  /* number of the record; of a sample without one ~0 */
	__u32 life; /* its owner word, which distinguishes lives */
	__u32 len;  /* of a sample: bytes of layer 4 payload that follow */
};
_Static_assert(sizeof(struct meter_news) == 16, "meter_news");

/* A sample's packet: the key that a record would have, and the payload behind it. */
struct meter_sample {
	struct meter_news news;
	__u64 key[5];  /* of IPv4 the first two */
	__u32 ifindex; /* port */
	__u32 seq;     /* TCP sequence number, host order */
	__u8 mac[6];   /* of the station */
	__u8 way;      /* enum meter_way */
	__u8 ipv6;
};
_Static_assert(sizeof(struct meter_sample) == 72, "meter_sample");

#define SAMPLE_SMALL 440 /* of payload: most DNS answers */
#define SAMPLE_LARGE 1528
#define SAMPLE_SUPER 4024
