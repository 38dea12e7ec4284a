/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cached drops, as both objects see them: the packet path (drop.h) applies them, the tracepoint
 * (drops.bpf.c) learns them.
 *
 * A *learned* drop is one 5-tuple of which netfilter dropped every packet for a while. Only a
 * packet that netfilter drops twice takes a slot. A source has DROP_SPREAD buckets and no more, so
 * a source that scans ports pushes out only its own entries. A cached entry that still drops
 * packets is never pushed out.
 *
 * A *listed* drop is a prefix: of sources, from an nftables set that the configuration names; of
 * destinations, from a route.
 */
#pragma once

#include "hash.h"
#include "parse.h"

#define DROP_WAYS 4
#define DROP_SPREAD 64      /* buckets in which the entries of one source can be */
#define DROP_PREFIXES 65536 /* of one list of one family */

const volatile __u32 drop_mask;  /* number of buckets - 1 */
const volatile __u32 drop_every; /* one of so many packets is let through, less 1: a mask */
const volatile __u32 drop_pause; /* jiffies after which one is let through in any case */
/* Jiffies within which the kernel must drop a sampled packet. */
const volatile __u32 drop_patience;
/* Jiffies for which a cached drop holds after the kernel last dropped a packet of it. */
const volatile __u32 drop_life;
/* jiffies for which netfilter must have dropped all before a drop is cached */
const volatile __u32 drop_row;
/* Jiffies without a drop after which a row ends. */
const volatile __u32 drop_row_missed;

#define DROP_EVIDENCE 8 /* and at least so many */

/*
 * Record of one 5-tuple. `tried` packets were let through to the kernel since the row began, and
 * the kernel was seen to drop `dropped` of them. A packet of a cached drop writes the first line
 * alone.
 */
struct drop {
	__u64 seen;      /* packets that found it cached */
	__u64 sampled;   /* of all that did, let through */
	__u64 in;        /* origin of the packets, as flow.in */
	__u32 epoch;     /* global epoch of the row; 0: none has begun */
	__u32 since;     /* jiffies at which the row began */
	__u32 when;      /* jiffies at which the last packet was let through */
	__u32 confirmed; /* jiffies at which the kernel last dropped one */
	__u32 tried;     /* */
	__u32 dropped;   /* */
	__u32 granted;   /* XDP let one through: TC, which sees it next, is to do so, too */
	/*
	 * Ingress device of the packets, as the kernel reports it: the topmost one, see `stacks`.
	 */
	__u32 top;
	__u32 ipv6; /* */
	/* drop_permit(), where user space allows the drop to be cached; written by it alone */
	__u32 allowed;
	__u64 key[5]; /* as in a packet; unused words 0 */
	__u64 reserved2[3];
};
_Static_assert(sizeof(struct drop) == 128, "drop: two cache lines");

/*
 * `id` is the hash of the whole key: DROP_FREE, or DROP_WRITING while the entry is being filled in.
 * `cached` is 0, or one number made of key, `in` and epoch: so one load shows that the drop holds,
 * in this epoch, for this very packet. A concurrent change of the entry cannot make it hold for
 * another packet.
 */
struct drop_bucket {
	__u64 id[DROP_WAYS];
	__u64 cached[DROP_WAYS];
	struct drop way[DROP_WAYS];
};
_Static_assert(sizeof(struct drop_bucket) == 576, "drop_bucket");

#define DROP_FREE 0
#define DROP_WRITING 1
#define DROP_ID_MIN 2

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct drop_bucket);
} drops SEC(".maps");

enum drop_total {
	DROP_GONE,    /* packets dropped by entries that had to make room */
	DROP_LEARNED, /* entries made */
	DROP_CROWDED, /* not made: all slots taken by drops that hold */
	DROP_TOTALS,
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, DROP_TOTALS);
	__type(key, __u32);
	__type(value, __u64);
} drop_totals SEC(".maps");

struct drop_key4 {
	__u32 bits; /* that count, from the first */
	__be32 address;
};
struct drop_key6 {
	__u32 bits;
	__be32 address[4];
};

/* A prefix of a list. `except`, `every`, `pause` and `list` are written by user space. */
struct drop_prefix {
	__u64 seen;    /* packets that fell under it */
	__u64 sampled; /* of these, let through */
	/* packets that netfilter was seen to drop: counted by the tracepoint, if there is one */
	__u64 confirmed;
	__u32 when;    /* jiffies at which the last one was let through */
	__u32 granted; /* as in struct drop */
	__u32 except;  /* not 0: a hole in a shorter prefix, nothing is dropped */
	__u32 every;   /* as drop_every */
	__u32 pause;   /* as drop_pause */
	__u32 list;    /* number of the list it is from */
};
_Static_assert(sizeof(struct drop_prefix) == 48, "drop_prefix");

#define DROP_LIST(name, key_type)                     \
	struct {                                      \
		__uint(type, BPF_MAP_TYPE_LPM_TRIE);  \
		__uint(map_flags, BPF_F_NO_PREALLOC); \
		__uint(max_entries, DROP_PREFIXES);   \
		__type(key, key_type);                \
		__type(value, struct drop_prefix);    \
	} name SEC(".maps")

DROP_LIST(drop_from4, struct drop_key4);
DROP_LIST(drop_from6, struct drop_key6);

/* Identity of an entry: the hash of its whole key. */
always_inline __u64 drop_id(__u64 hash)
{
	return hash < DROP_ID_MIN ? DROP_ID_MIN : hash;
}

/*
 * The bucket: by the source (of IPv6 its first 64 bits, which one host can have to itself), and a
 * little by the rest.
 */
always_inline __u32 drop_bucket_of(const __u64 *key, __u64 id, int ipv6)
{
	__u64 source = key[0];

	if (!ipv6)
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		source = (__u32)source;
#else
		source >>= 32;
#endif
	return ((hash_mix(hash_seed[2], source) >> 20) + (id & (DROP_SPREAD - 1))) & drop_mask;
}

always_inline __u64 drop_stamp(__u64 id, __u64 in, __u32 epoch)
{
	return hash_mix(id ^ in, epoch | 1ull << 32);
}

/*
 * Word that user space writes into an entry whose tuple may be dropped early: conntrack has no
 * connection of the tuple, and its destination is not one of the router's own addresses. Made of
 * this key and this epoch, so that the word is invalid for any other tuple that gets the slot
 * meanwhile.
 */
always_inline __u32 drop_permit(__u64 id, __u32 epoch)
{
	return (__u32)(id >> 32) ^ epoch;
}

always_inline int drop_is(const struct drop *d, const __u64 *key, int ipv6)
{
	if (d->ipv6 != ipv6 || d->key[0] != key[0] || d->key[1] != key[1])
		return 0;
	return !ipv6 || (d->key[2] == key[2] && d->key[3] == key[3] && d->key[4] == key[4]);
}

/* Finds the way of an entry in its bucket; DROP_WAYS if missing. */
always_inline __u32 drop_find(const struct drop_bucket *b, __u64 id, const __u64 *key, int ipv6)
{
	__u32 way;

#pragma unroll
	for (way = 0; way < DROP_WAYS; way++)
		if (READ_ONCE(b->id[way]) == id)
			return drop_is(&b->way[way], key, ipv6) ? way : DROP_WAYS;
	return DROP_WAYS;
}

always_inline void drop_total(__u32 which, __u64 add)
{
	__u64 *n = bpf_map_lookup_elem(&drop_totals, &which);

	if (n)
		__sync_fetch_and_add(n, add);
}
