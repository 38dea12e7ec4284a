/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Common part of the probes: a record by port, station and label, which is a counter or a
 * histogram. docs/reference/probes.md walks through adding one. Names tell user space what belongs together:
 * maps and programs of the probe NAME begin with NAME and two underscores ('-' of its name is '_'
 * here). Each probe is loaded by itself, so a program that this kernel refuses costs only its own
 * probe.
 */
#pragma once

#include "kernel.h"

#include <bpf/bpf_core_read.h>

/* Key of a record. */
struct probe_key {
	__u32 link; /* index of the port; 0 if unknown */
	/* label of the record: a drop reason, a TCP state; 0 if the probe has no labels */
	__u32 label;
	/* hardware address of the device at that port; all zero if unknown */
	__u8 station[6];
	__u16 zero; /* no padding: keys are compared as bytes */
};

/* Bucket n counts values below 2^n, from 0 on; the last counts all that are larger. */
#define PROBE_BUCKETS 28

struct probe_histogram {
	__u64 sum;
	__u64 bucket[PROBE_BUCKETS];
};

_Static_assert(sizeof(struct probe_key) == 16, "user space reads the same bytes");
_Static_assert(sizeof(struct probe_histogram) == 8 * (1 + PROBE_BUCKETS), "words only");

/* Events that could not be recorded. */
enum probe_missed {
	PROBE_NO_ROOM, /* no record was free, neither for the station nor for the port */
	/* The beginning of the event to measure was not seen, or is forgotten. */
	PROBE_NOT_MEASURED,
	PROBE_MISSED_COUNT,
};

/* Records, and counters of unrecorded events. */
#define PROBE_RECORDS(name, record, room)                \
	struct {                                         \
		__uint(type, BPF_MAP_TYPE_HASH);         \
		__uint(max_entries, room);               \
		__type(key, struct probe_key);           \
		__type(value, record);                   \
	} name##__records SEC(".maps");                  \
	struct {                                         \
		__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); \
		__uint(max_entries, PROBE_MISSED_COUNT); \
		__type(key, __u32);                      \
		__type(value, __u64);                    \
	} name##__missed SEC(".maps")

#define PROBE_COUNTER(name, room) PROBE_RECORDS(name, __u64, room)
#define PROBE_HISTOGRAM(name, room) PROBE_RECORDS(name, struct probe_histogram, room)

/* inode of weir's network namespace: tracepoints fire for all of them */
const volatile __u32 probe_netns;

static const struct probe_histogram probe_nothing;

always_inline void probe_miss(void *missed, __u32 which)
{
	__u64 *count = bpf_map_lookup_elem(missed, &which);

	if (count)
		++*count;
}

/*
 * Returns the record of a key, and makes it if necessary. Without room for the station: that of its
 * port.
 */
always_inline void *probe_record(void *records, void *missed, struct probe_key *key)
{
	void *record = bpf_map_lookup_elem(records, key);

	if (likely(record))
		return record;
	/* Another CPU may have made it just now: then this fails, and it is there. */
	bpf_map_update_elem(records, key, &probe_nothing, BPF_NOEXIST);
	record = bpf_map_lookup_elem(records, key);
	if (record)
		return record;
	__builtin_memset(key->station, 0, sizeof(key->station));
	bpf_map_update_elem(records, key, &probe_nothing, BPF_NOEXIST);
	record = bpf_map_lookup_elem(records, key);
	if (!record)
		probe_miss(missed, PROBE_NO_ROOM);
	return record;
}

/* Adds to a counter. */
#define probe_add(name, key, n)                                                        \
	do {                                                                           \
		__u64 *record_ = probe_record(&name##__records, &name##__missed, key); \
		if (record_)                                                           \
			__sync_fetch_and_add(record_, n);                              \
	} while (0)

/*
 * Returns the bucket of a value: the number of its bits, 0 for 0. Not inline, so that the verifier
 * goes through it once.
 */
__attribute__((noinline)) int probe_bucket(__u64 value)
{
	int bucket = 0;

	if (value >> (PROBE_BUCKETS - 1))
		return PROBE_BUCKETS - 1;
	if (value >> 16) {
		bucket += 16;
		value >>= 16;
	}
	if (value >> 8) {
		bucket += 8;
		value >>= 8;
	}
	if (value >> 4) {
		bucket += 4;
		value >>= 4;
	}
	if (value >> 2) {
		bucket += 2;
		value >>= 2;
	}
	if (value >> 1)
		return bucket + 2;
	return bucket + (value ? 1 : 0);
}

/* Adds a value to a histogram. */
#define probe_observe(name, key, value)                                       \
	do {                                                                  \
		struct probe_histogram *record_ =                             \
			probe_record(&name##__records, &name##__missed, key); \
		__u32 bucket_ = probe_bucket(value);                          \
		if (record_ && bucket_ < PROBE_BUCKETS) {                     \
			__sync_fetch_and_add(&record_->sum, value);           \
			__sync_fetch_and_add(&record_->bucket[bucket_], 1);   \
		}                                                             \
	} while (0)

/* Something could not be measured. */
#define probe_not_measured(name) probe_miss(&name##__missed, PROBE_NOT_MEASURED)

/*
 * The kernel's structures: just the fields that probes touch. At the load of a probe, BTF gives
 * their offsets in the running kernel.
 */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common___weir {
	unsigned int inum;
};

struct net___weir {
	struct ns_common___weir ns;
};

typedef struct {
	struct net___weir *net;
} possible_net_t___weir;

struct net_device___weir {
	possible_net_t___weir nd_net;
	int ifindex;
	unsigned short type;
	unsigned char *dev_addr;
};

struct skb_shared_info___weir {
	unsigned short gso_segs;
};

struct sk_buff___weir {
	struct sk_buff___weir *next;
	struct net_device___weir *dev;
	unsigned char *head;
	/* a pointer where the kernel has 32 bits: then super-packets count as one */
	unsigned int end;
	unsigned int len;
	int skb_iif;
	__u16 network_header;
	__u16 mac_header;
};

#pragma clang attribute pop

/* Returns true for weir's network namespace. */
always_inline int probe_in(struct net___weir *net)
{
	return net->ns.inum == probe_netns;
}

/* Returns true if a device is in the namespace; false without a device. */
always_inline int probe_ours(struct net_device___weir *dev)
{
	return dev && probe_in(dev->nd_net.net);
}

/*
 * Reads an address as a number, to compare or hash it: the verifier forbids arithmetic on the
 * pointer itself. `at`: where the address is stored.
 */
always_inline __u64 probe_number(const void *at)
{
	__u64 number = 0;

	bpf_probe_read_kernel(&number, sizeof(void *), at);
	return number;
}

/* Returns the number of packets on the wire that an skb represents. */
always_inline __u32 probe_packets(struct sk_buff___weir *skb)
{
	struct skb_shared_info___weir *shared;
	__u32 segments = 0;

	if (bpf_core_field_exists(skb->end)) {
		shared = (void *)(skb->head + skb->end);
		segments = BPF_CORE_READ(shared, gso_segs);
	}
	return segments ? segments : 1;
}

/* ARPHRD_ETHER of linux/if_arp.h, whose other headers are not for BPF. */
#define PROBE_ETHERNET 1
#define PROBE_HEADER_UNSET 0xffff
#define PROBE_TAG_LEN 4

struct probe_addresses {
	__u8 destination[ETH_ALEN];
	__u8 source[ETH_ALEN];
};

/* Reads both addresses of an skb's Ethernet header. Returns 0 without one of its own. */
always_inline int probe_ethernet(struct sk_buff___weir *skb, struct probe_addresses *addresses)
{
	__u32 at = BPF_CORE_READ(skb, mac_header),
	      length = (__u32)BPF_CORE_READ(skb, network_header) - at;

	/*
	 * Behind a device without an Ethernet header something else is there, of another length: a
	 * tunnel's header, or nothing.
	 */
	if (at == PROBE_HEADER_UNSET || (length != ETH_HLEN && length != ETH_HLEN + PROBE_TAG_LEN))
		return 0;
	return !bpf_probe_read_kernel(addresses, sizeof(*addresses), BPF_CORE_READ(skb, head) + at);
}

/* Returns true if an address is the device's own. */
always_inline int probe_own(struct net_device___weir *dev, const __u8 *address)
{
	__u8 own[ETH_ALEN];
	__u32 i, differs = 0;

	if (bpf_probe_read_kernel(own, sizeof(own), dev->dev_addr))
		return 0;
#pragma unroll
	for (i = 0; i < ETH_ALEN; i++)
		differs |= own[i] ^ address[i];
	return !differs;
}

/* The station of a key, unless the address is a group's. */
always_inline void probe_station(struct probe_key *key, const __u8 *address)
{
	if (!(address[0] & 1))
		__builtin_memcpy(key->station, address, ETH_ALEN);
}
