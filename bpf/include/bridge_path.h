/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The programs that handle bridged frames instead of weir_xdp, weir_tc and weir_witness: see
 * bridge.h. Loaded only on request.
 */
#pragma once

#include "bridge.h"
#include "tc.h"

/*
 * Pairs of addresses that a bridge passed on and that are not installed yet: user space reads and
 * empties the map. A full map forgets the oldest.
 */
struct pair_key {
	__u8 to[ETH_ALEN];
	__u8 from[ETH_ALEN];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct pair_key);
	__type(value, __u32);
} pairs SEC(".maps");

/* Inserts other tags between addresses and EtherType. On 0 the frame is unchanged. */
always_inline int bridge_retag_xdp(struct xdp_md *ctx, const struct crossing *c,
				   const struct hop *hop)
{
	__u32 tags = hop->key.form & HOP_TAGS;
	const __u16 *h = (const void *)hop->key.header;
	__u16 *to = (void *)(long)ctx->data;
	__u16 mac[6];
	void *end;

	if ((void *)to + L3_ETHERNET > (void *)(long)ctx->data_end)
		return -1;
	__builtin_memcpy(mac, to, sizeof(mac));
	if (xdp_make_room(ctx, (int)(tags * TAG_SIZE) - (int)c->shift, FRAME_MIN))
		return -1;
	/*
	 * By hand: clang 14 cuts the value to 32 bits again, and the verifier then forgets that the
	 * value is a pointer.
	 */
	asm volatile("%[end] = *(u32 *)(%[ctx] + %[at])"
		     : [end] "=r"(end)
		     : [ctx] "r"(ctx), [at] "i"(offsetof(struct xdp_md, data_end)));
	to = (void *)(long)ctx->data;
	/* FRAME_MIN bytes are there. */
	if ((void *)to + L3_ETHERNET + 2 * TAG_SIZE > end)
		return -1;
	__builtin_memcpy(to, mac, sizeof(mac));
	if (tags) {
		to[6] = h[6];
		to[7] = h[7];
	}
	if (tags > 1) {
		to[8] = h[8];
		to[9] = h[9];
	}
	return 0;
}

SEC("xdp")
int weir_bridge_xdp(struct xdp_md *ctx)
{
	struct frame f = xdp_frame(ctx);
	const struct meta_tag none = {};
	struct crossing c = {};
	struct passage p = {};
	__u32 len = f.len;
	int reason;

	reason = bridge_decide(&f, ctx->ingress_ifindex, 1, &none, &c, &p);
	if (!reason) {
		len -= L3_ETHERNET + c.shift;
		/*
		 * Frames in several buffers: Linux 5.18 to 6.2 send none, later versions do by
		 * devices that support them.
		 */
		if (buffers && bpf_xdp_get_buff_len(ctx) != f.len)
			reason = REASON_HOOK;
		else if (len > READ_ONCE(p.flow->len))
			reason = REASON_LENGTH;
		else if (bridge_retags(&c, p.hop) && bridge_retag_xdp(ctx, &c, p.hop))
			reason = REASON_HOOK;
	}
	if (reason) { /* TC comes next, and chooses packets for trial */
		count_passed(PASSED_BY_XDP + reason);
		return XDP_PASS;
	}
	flow_count(p.flow, 1, len);
	if (capturing())
		capture_out_xdp(ctx, p.ref, p.hop->key.ifindex);
	return bpf_redirect_map(&transmit, p.hop->key.ifindex & ports_mask, 0);
}

#define PRINT_SIZE 28

/*
 * Computes a number by which the witness recognises a frame: if two stations talk in several VLANs
 * at once, the witness must not mistake one frame for another. Made of the payload, which no bridge
 * changes: for IP over TCP or UDP it includes identification, ports and sequence number. 0: too
 * short.
 */
always_inline __u32 bridge_print(struct __sk_buff *skb, __u32 at)
{
	__u64 h = hash_seed[0], part[4] = {};

	if (bpf_skb_load_bytes(skb, at, part, PRINT_SIZE))
		return 0;
	h = hash_mix(hash_mix(hash_mix(hash_mix(h, part[0]), part[1]), part[2]), part[3]);
	if (!bpf_skb_load_bytes(skb, at + 36, part, PRINT_SIZE))
		h = hash_mix(hash_mix(hash_mix(hash_mix(h, part[0]), part[1]), part[2]), part[3]);
	h = h * hash_seed[2] >> 32;
	return h ? h : 1;
}

/*
 * Returns the bytes behind the EtherType; for a super-packet those of one segment, as far as its
 * headers are known: the whole has no limit.
 */
always_inline __u32 bridge_len(struct __sk_buff *skb, const struct crossing *c)
{
	__u32 at = L3_ETHERNET + c->shift, l4;
	__u8 version = 0, proto = 0, offset = 0;

	if (!skb->gso_size)
		return skb->len - at;
	if (bpf_skb_load_bytes(skb, at, &version, 1))
		return skb->gso_size;
	if (c->type == bpf_htons(ETH_P_IP)) {
		l4 = (version & 15) * 4;
		bpf_skb_load_bytes(skb, at + 9, &proto, 1);
	} else if (c->type == bpf_htons(ETH_P_IPV6)) {
		l4 = sizeof(struct ipv6hdr);
		bpf_skb_load_bytes(skb, at + 6, &proto, 1);
	} else {
		return skb->gso_size;
	}
	if (proto == IPPROTO_TCP && !bpf_skb_load_bytes(skb, at + l4 + 12, &offset, 1))
		return skb->gso_size + l4 + (offset >> 4) * 4;
	if (proto == IPPROTO_UDP)
		return skb->gso_size + l4 + sizeof(struct udphdr);
	return skb->gso_size;
}

/*
 * Describes an skb, in its frame and in its metadata. Everything up to the EtherType must be
 * directly readable.
 */
always_inline int bridge_skb(struct __sk_buff *skb, struct frame *f, struct meta_tag *meta)
{
	tc_pull(skb, L3_ETHERNET + 2 * TAG_SIZE);
	f->data = (void *)(long)skb->data;
	f->end = (void *)(long)skb->data_end;
	f->len = skb->len;
	if (!skb->vlan_present)
		return REASON_NONE;
	meta->kind = tag_kind((__be16)skb->vlan_proto);
	meta->tci = skb->vlan_tci;
	return meta->kind ? REASON_NONE : REASON_ETHERTYPE;
}

always_inline void bridge_try(struct __sk_buff *skb, const struct crossing *c,
			      const struct passage *p, __u32 len, int reason)
{
	struct trial *t = trial_get(p->ref);
	__u32 print = bridge_print(skb, L3_ETHERNET + c->shift);

	if (!t)
		return;
	t->epoch = 0; /* not complete */
	barrier();
	t->when = now();
	t->in = c->in;
	t->len = len;
	t->label = print;
	t->reason = reason;
	barrier();
	if (print)
		WRITE_ONCE(t->epoch, p->epoch);
}

/*
 * The frame leaves with other tags than it came with. Half way, only memory can run out: the frame
 * is lost then.
 */
always_inline int bridge_retag_tc(struct __sk_buff *skb, const struct crossing *c,
				  const struct hop *hop)
{
	const __be16 *h = (const void *)hop->key.header;
	__u32 tags = hop->key.form & HOP_TAGS;
	int i;

#pragma unroll
	for (i = 0; i < 2; i++)
		if (i < c->tags && bpf_skb_vlan_pop(skb))
			return -1;
	if (tags > 1 && bpf_skb_vlan_push(skb, h[8], bpf_ntohs(h[9])))
		return -1;
	return tags && bpf_skb_vlan_push(skb, h[6], bpf_ntohs(h[7])) ? -1 : 0;
}

SEC("tc")
int weir_bridge_tc(struct __sk_buff *skb)
{
	struct meta_tag meta = {};
	struct crossing c = {};
	struct passage p = {};
	struct frame f;
	__u32 len = 0;
	int reason;

	reason = bridge_skb(skb, &f, &meta);
	if (!reason)
		reason = bridge_decide(&f, skb->ifindex, 0, &meta, &c, &p);
	if (p.known) {
		len = bridge_len(skb, &c);
		if (!reason && len > READ_ONCE(p.flow->len))
			reason = REASON_LENGTH;
		if (reason == REASON_MOVED)
			flow_moved(p.ref);
		if (reason)
			bridge_try(skb, &c, &p, len, reason);
	}
	if (reason) {
		count_passed(reason);
		return TC_ACT_UNSPEC;
	}
	/* Mark and priority stay as they came: a bridge does not touch them. */
	flow_count(p.flow, skb->gso_size && skb->gso_segs ? skb->gso_segs : 1,
		   skb->len - (L3_ETHERNET + c.shift));
	if (bridge_retags(&c, p.hop) && bridge_retag_tc(skb, &c, p.hop))
		return TC_ACT_SHOT;
	skb->cb[0] = OURS_0;
	skb->cb[1] = OURS_1;
	if (capturing())
		capture_out_tc(skb, p.ref, p.hop->key.ifindex);
	return bpf_redirect(p.hop->key.ifindex, 0);
}

/* Notes a pair between which a bridge forwarded a frame, for user space to install. */
always_inline void bridge_note(const struct frame *f)
{
	struct pair_key key;
	__u32 one = 1;

	if (f->data + L3_ETHERNET > f->end)
		return;
	__builtin_memcpy(&key, f->data, sizeof(key));
	if (!bpf_map_lookup_elem(&pairs, &key))
		bpf_map_update_elem(&pairs, &key, &one, BPF_ANY);
}

/*
 * Describes the hop of a frame that a bridge sends: the member, and the tags; the addresses stay
 * those of each frame.
 */
always_inline void bridge_hop(struct hop_key *key, struct __sk_buff *skb, const struct crossing *c,
			      const struct frame *f)
{
	__be16 *h = (void *)key->header;

	key->ifindex = skb->ifindex;
	key->form = c->tags | HOP_BRIDGED;
	key->len = L3_ETHERNET + c->tags * TAG_SIZE;
	key->able = ABLE_TC | ABLE_SUPER;
	if (c->tags) {
		h[6] = c->in >> IN_OUTER_KIND == TAG_SERVICE ? bpf_htons(ETH_P_8021AD)
							     : bpf_htons(ETH_P_8021Q);
		h[7] = bpf_htons((__u16)(c->in >> IN_OUTER));
	}
	if (c->tags > 1) {
		h[8] = (c->in >> IN_INNER_KIND & 3) == TAG_SERVICE ? bpf_htons(ETH_P_8021AD)
								   : bpf_htons(ETH_P_8021Q);
		h[9] = bpf_htons((__u16)(c->in >> IN_INNER));
	}
}

/*
 * A frame that a bridge passes on leaves: compares it with the one on trial, as witness_packet
 * does.
 */
always_inline int bridge_heard(struct __sk_buff *skb)
{
	__u32 ref, epoch, slot, came_in, out, stamp;
	struct hop_key key = {};
	struct meta_tag meta = {};
	struct crossing c = {};
	struct port *port, *from;
	struct flow *flow;
	struct trial *t;
	struct hop *hop;
	struct frame f;
	int reason;

	if (bridge_skb(skb, &f, &meta) || bridge_parse(&f, &meta, &c))
		return REASON_NONE; /* nothing that could be on trial */
	port = port_find(skb->ifindex, &out);
	if (!port || !(port->flags & PORT_BRIDGES))
		return REASON_NONE;
	flow = flow_find(c.key, 0, &ref);
	if (!flow) {
		bridge_note(&f);
		return REASON_NONE;
	}
	t = trial_get(ref);
	if (!t)
		return REASON_NONE;
	bridge_hop(&key, skb, &c, &f);
	epoch = READ_ONCE(control.epoch);
	if (READ_ONCE(t->epoch) != epoch || now() - t->when > patience)
		return witness_copy(flow, t, &key, epoch);
	came_in = in_slot(t->in);
	from = port_at(came_in);
	if (from->ifindex != skb->ingress_ifindex || t->len != (__u16)bridge_len(skb, &c) ||
	    t->label != bridge_print(skb, L3_ETHERNET + c.shift))
		return REASON_NOT_SEEN;
	if (later(READ_ONCE(control.quiet_until), now()))
		reason = REASON_QUIET;
	else if (!(port->flags & PORT_OUT))
		reason = REASON_PORT;
	else
		reason = REASON_NONE;
	if (reason) {
		t->reason = reason;
		return reason;
	}
	slot = hop_learn(&key, HOP_LIVE | (port->flags & PORT_XDP_TX ? HOP_XDP : 0));
	hop = hop_at(slot);
	if (slot >= HOPS_MAX || !hop) {
		t->reason = REASON_HOPS_FULL;
		return REASON_HOPS_FULL;
	}
	stamp = epoch + READ_ONCE(hop->epoch);
	if (!(READ_ONCE(flow->proof) == stamp && flow->hop == slot) &&
	    (t->once_at != stamp || t->once != slot)) {
		t->once = slot;
		t->once_at = stamp;
		t->epoch = 0;
		t->reason = REASON_ONCE;
		return REASON_ONCE;
	}
	reason = prove(flow, 0, t, hop, slot, epoch, bridge_len(skb, &c), 0);
	t->reason = reason;
	t->epoch = 0; /* used: one trial, one proof */
	return reason;
}

SEC("tc")
int weir_bridge_witness(struct __sk_buff *skb)
{
	int reason = bridge_heard(skb);

	if (reason)
		count_passed(reason);
	return TC_ACT_UNSPEC;
}
