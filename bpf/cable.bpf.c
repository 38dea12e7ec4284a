// SPDX-License-Identifier: GPL-2.0-only
/*
 * The classifier of a port, and its gate: two programs at TC, before all others of weir's, so that
 * frames that the gate stops are neither forwarded nor counted. An object of its own: the daemon
 * loads it only to find out the purpose of a port.
 *
 * Packet sockets receive frames before TC ingress, and with PACKET_QDISC_BYPASS send without TC
 * egress: weir's own questions leave, and their answers arrive, while the gate is shut.
 *
 * The guard of a port of the LAN (CABLE_GUARD) keeps foreign servers out: DHCP snooping, DHCPv6
 * shield (RFC 7610) and RA guard (RFC 6105, 7113). The guard needs no part at XDP, which comes
 * before: XDP forwards only proven flows, whose packets are unicast and passed the kernel. An
 * advertisement, or an offer to a client without an address, is never one.
 */
#include "include/cable_sort.h"

#include <linux/if_packet.h>

/* ns between two notes of one sort, by the coarse clock: a storm costs little */
#define CABLE_PAUSE 1000000

struct cable cables[CABLES] SEC(".bss.cables") __attribute__((aligned(64)));

/* Hardware addresses of this router. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CABLE_OWN_MAX);
	__type(key, __u64); /* as a number */
	__type(value, __u32);
} cable_own SEC(".maps");

/*
 * Returns the port of a device. User space puts the port at the device's index or, if that slot is
 * taken, at the next free one. Nearly always the first probe finds it, without a call; a map would
 * cost one. A frame of an idle port costs some 20 instructions, in either direction.
 */
always_inline struct cable *cable_of(__u32 ifindex)
{
	__u32 i;

#pragma clang loop unroll(disable)
	for (i = 0; i < CABLES; i++) {
		struct cable *c = pinned(&cables[(ifindex + i) & (CABLES - 1)]);

		if (likely(READ_ONCE(c->ifindex) == ifindex))
			return c;
	}
	return NULL;
}

/*
 * Returns the present mode: a mode that user space no longer prolongs is over. The coarse clock is
 * up to a tick of the kernel's late (10 ms at most), and a read of memory.
 */
always_inline __u32 cable_mode(const struct cable *c, __u64 *now)
{
	__u32 mode = READ_ONCE(c->mode);

	if (mode == CABLE_IDLE)
		return mode;
	*now = bpf_ktime_get_coarse_ns();
	return (__u32)(*now >> CABLE_TICK_BITS) < READ_ONCE(c->until) ? mode : CABLE_IDLE;
}

always_inline void cable_station(struct cable *c, __u64 mac)
{
	__u64 own = mac | 1ull << CABLE_MAC_BIT, old;
	__u32 i;

	/* No station sends from a group's address, or from address 0. */
	if (mac >> 40 & 1 || !mac)
		return;
#pragma unroll
	for (i = 0; i < CABLE_STATIONS; i++) {
		old = READ_ONCE(c->station[i]);
		if (!old)
			old = __sync_val_compare_and_swap(&c->station[i], 0, own);
		if (!old || old == own)
			return;
	}
	WRITE_ONCE(c->more, 1);
}

always_inline void cable_vlan(struct cable *c, __u32 vlan)
{
	__u32 own = vlan | 1 << CABLE_VLAN_BIT, i, old;

	if (vlan == CABLE_NO_VLAN)
		return;
#pragma unroll
	for (i = 0; i < CABLE_VLANS; i++) {
		old = READ_ONCE(c->vlan[i]);
		if (!old)
			old = __sync_val_compare_and_swap(&c->vlan[i], 0, own);
		if (!old || old == own)
			return;
	}
}

/* Keeps a frame. Another CPU that does so at the same time has won: one is as good as the other. */
always_inline void cable_keep(struct __sk_buff *skb, struct cable_text *text)
{
	__u32 sequence = READ_ONCE(text->sequence), length = skb->len;

	if (sequence & 1 ||
	    __sync_val_compare_and_swap(&text->sequence, sequence, sequence + 1) != sequence)
		return;
	if (length > CABLE_OCTETS)
		length = CABLE_OCTETS;
	length = pinned(length);
	if (length < ETH_HLEN || length > CABLE_OCTETS ||
	    bpf_skb_load_bytes(skb, 0, text->octets, length))
		length = 0;
	WRITE_ONCE(text->length, length);
	/* Not a store: the kernel orders this one behind earlier writes. */
	__sync_lock_test_and_set(&text->sequence, sequence + 2);
}

/* Notes a frame of a sort. */
always_inline void cable_note(struct __sk_buff *skb, struct cable *c, __u64 now,
			      const __be16 *ethernet, __u32 sort, __u32 vlan)
{
	__u64 mac = cable_mac((const __u8 *)ethernet + ETH_ALEN), last;
	__u32 is_hello = sort == CABLE_HELLO;
	struct cable_note *note;

	if (bpf_map_lookup_elem(&cable_own, &mac))
		sort = CABLE_OWN;
	else
		cable_station(c, mac);
	cable_vlan(c, vlan);
	sort = pinned(sort);
	if (sort >= CABLE_SORTS)
		return;
	note = &c->note[sort];
	__sync_fetch_and_add(&note->frames, 1);
	last = READ_ONCE(note->last);
	/* The coarse clock may be behind that of the last note. */
	if ((__s64)(now - last) < CABLE_PAUSE ||
	    __sync_val_compare_and_swap(&note->last, last, bpf_ktime_get_ns()) != last)
		return;
	WRITE_ONCE(note->from, mac | (__u64)vlan << CABLE_MAC_BIT);
	if (sort == CABLE_LLDP)
		cable_keep(skb, &c->text[CABLE_TEXT_LLDP]);
	else if (sort == CABLE_CDP)
		cable_keep(skb, &c->text[CABLE_TEXT_CDP]);
	else if (sort == CABLE_MNDP)
		cable_keep(skb, &c->text[CABLE_TEXT_MNDP]);
	/* An own hello too: it shows the port from which it returns. */
	else if (is_hello)
		cable_keep(skb, &c->text[CABLE_TEXT_HELLO]);
}

/*
 * Returns true if the gate stops an incoming frame. A server's frame counts from any sender: the
 * addresses of this router are no secret.
 */
always_inline int cable_stops(__u32 mode, __u32 sort)
{
	if (mode != CABLE_GUARD)
		return mode == CABLE_SHUT;
	return sort & CABLE_HIDDEN || 1 << sort & CABLE_SERVERS;
}

/* Returns true if a frame is for more than one station, as the kernel noted on arrival. */
always_inline int cable_for_group(const struct __sk_buff *skb)
{
	return skb->pkt_type == PACKET_BROADCAST || skb->pkt_type == PACKET_MULTICAST;
}

SEC("tc")
int weir_cable_in(struct __sk_buff *skb)
{
	struct cable *c = cable_of(skb->ifindex);
	__u32 mode, sort, vlan = CABLE_NO_VLAN;
	__be16 ethernet[7];
	__u64 now = 0;

	if (!c)
		return TC_ACT_UNSPEC;
	mode = READ_ONCE(c->mode);
	/* Nearly all frames of a known port. */
	if (mode == CABLE_IDLE || (mode == CABLE_GROUPS && !cable_for_group(skb)))
		return TC_ACT_UNSPEC;
	mode = cable_mode(c, &now);
	if (mode == CABLE_IDLE)
		return TC_ACT_UNSPEC;
	/* Of a frame that has no header it makes zeros. */
	bpf_skb_load_bytes(skb, 0, ethernet, ETH_HLEN);
	sort = cable_sort(skb, ethernet, &vlan);
	/* Most frames of a port that is guarded for long. */
	if (sort == CABLE_IP && mode == CABLE_GUARD)
		return TC_ACT_UNSPEC;
	cable_note(skb, c, now, ethernet, sort & ~CABLE_HIDDEN, vlan);
	if (!cable_stops(mode, sort))
		return TC_ACT_UNSPEC;
	__sync_fetch_and_add(&c->dropped_in, 1);
	return TC_ACT_SHOT;
}

/* Frames of a packet socket with PACKET_QDISC_BYPASS do not come here. */
SEC("tc")
int weir_cable_out(struct __sk_buff *skb)
{
	struct cable *c = cable_of(skb->ifindex);
	__u64 now = 0;

	if (!c || READ_ONCE(c->mode) != CABLE_SHUT || cable_mode(c, &now) != CABLE_SHUT)
		return TC_ACT_UNSPEC;
	__sync_fetch_and_add(&c->dropped_out, 1);
	return TC_ACT_SHOT;
}

char _license[] SEC("license") = "GPL";
