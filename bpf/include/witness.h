/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The egress witness: a TC program on the way out of every port. The witness sees packets that the
 * kernel itself sends, finds the flow by the inverted tuple, and compares with the packet at
 * ingress. If everything agrees, the flow is proven, and the hop's header is the one the kernel
 * just wrote. See docs/architecture.md, "seen, known, proven".
 */
#pragma once

#include "bridge_part.h"
#include "ours.h"
#include "shadow.h"
#include "sum.h"

#define PROOF_WRITING 1 /* flow.proof while a witness fills a record in; epochs start above it */

/* Returns the hop of a header; creates a new one. HOPS_MAX if the table is full. */
always_inline __u32 hop_learn(const struct hop_key *key, __u32 flags)
{
	__u32 *known = bpf_map_lookup_elem(&hop_index, key);
	struct hop *hop;
	__u32 slot;

	if (known)
		return *known;
	slot = __sync_fetch_and_add(&control.hops, 1);
	if (slot >= HOPS_MAX) {
		WRITE_ONCE(control.hops, HOPS_MAX);
		return HOPS_MAX;
	}
	hop = hop_at(slot);
	if (!hop)
		return HOPS_MAX;
	__builtin_memcpy(&hop->key, key, sizeof(*key));
	hop->flags = flags;
	hop->slot = key->ifindex & ports_mask;
	/*
	 * Two CPUs that learn the same hop at once: the second one's slot stays unused, until all
	 * hops are forgotten.
	 */
	if (bpf_map_update_elem(&hop_index, key, &slot, BPF_NOEXIST)) {
		known = bpf_map_lookup_elem(&hop_index, key);
		return known ? *known : HOPS_MAX;
	}
	return slot;
}

always_inline int trial_held(const struct trial *t)
{
	return READ_ONCE(t->held) && ahead(t->hold, hold);
}

/*
 * Enters the evidence of one packet that left into the record of one direction of a flow.
 * `changed`: with another mark or priority than the packet before.
 */
always_inline int prove(struct flow *flow, int ipv6, struct trial *t, struct hop *hop, __u32 slot,
			__u32 epoch, __u32 len, int changed)
{
	__u32 stamp = epoch + READ_ONCE(hop->epoch);
	__u32 old = READ_ONCE(flow->proof);
	__u8 tos = t->tos & 0xfc, ttl = t->ttl;

	if (old == PROOF_WRITING)
		return REASON_UNPROVEN; /* another CPU is at it */
	if (ipv6 && ((struct flow6 *)flow)->label != t->label)
		changed = 1;
	if (old == stamp && flow->hop == slot && flow->in == t->in && (flow->tos & 0xfc) == tos &&
	    !changed) {
		if (len > flow->len)
			WRITE_ONCE(flow->len, len);
		if (ttl < flow->ttl_lo)
			WRITE_ONCE(flow->ttl_lo, ttl);
		if (ttl > flow->ttl_hi)
			WRITE_ONCE(flow->ttl_hi, ttl);
		return REASON_NONE;
	}
	if (old == stamp) {
		/*
		 * The kernel now sends the flow differently. A reader may be half way through the
		 * old proof: end it, prove with the next packet.
		 */
		__sync_val_compare_and_swap(&flow->proof, old, 0);
		return REASON_DIFFERS;
	}
	if (__sync_val_compare_and_swap(&flow->proof, old, PROOF_WRITING) != old)
		return REASON_UNPROVEN;
	flow->hop = slot;
	flow->in = t->in;
	flow->tos = tos;
	if (ipv6)
		((struct flow6 *)flow)->label = t->label;
	flow->ttl_lo = ttl;
	flow->ttl_hi = ttl;
	flow->len = len;
	flow->flags = (flow->flags & ~FLOW_META) | (t->mark || t->priority ? FLOW_META : 0);
	__sync_lock_test_and_set(&flow->proof, stamp);
	if (trial_held(t)) { /* a FIN or RST went by on another CPU meanwhile */
		__sync_val_compare_and_swap(&flow->proof, stamp, 0);
		return REASON_HELD;
	}
	__sync_fetch_and_add(&hop->packets, 1);
	return REASON_NONE;
}

/* The link-layer header of an skb, with the tag in its metadata and that of a switch. */
always_inline int skb_link_parse(struct __sk_buff *skb, int out, struct link *l)
{
	struct frame f = {(void *)(long)skb->data, (void *)(long)skb->data_end, skb->len};
	struct meta_tag meta = {};
	struct dsa_tag dsa = {};
	__u32 slot;
	int reason;

	if (skb->vlan_present) {
		meta.kind = tag_kind((__be16)skb->vlan_proto);
		meta.tci = skb->vlan_tci;
		if (!meta.kind)
			return REASON_ETHERTYPE;
	}
	reason = port_dsa(f.data, f.end, port_find(skb->ifindex, &slot), out, &dsa);
	if (reason)
		return reason;
	l->least = dsa.least;
	return link_parse(&f, &dsa, &meta, l);
}

/*
 * Copies the bytes before IP as they will be on the wire: a tag in the metadata comes after the
 * addresses. The helper copies, because it checks by itself: a compiler omits a check here if those
 * of the parser imply it, and the verifier cannot follow.
 */
always_inline int hop_key_fill(struct hop_key *key, struct __sk_buff *skb, const struct port *port,
			       const struct link *l)
{
	/* else the verifier follows each length of the header by itself */
	const __be16 zero = nothing(skb->len);
	__be16 *h = (void *)key->header;
	int i;

	/* shorter than the headers that were parsed: never */
	if (bpf_skb_load_bytes(skb, 0, key->header, HOP_HEADER_MAX))
		return 0;
	key->ifindex = skb->ifindex;
	key->form = l->tags | (l->in & IN_PPPOE ? HOP_PPPOE : 0);
	key->len = L3_ETHERNET + l->shift + (l->meta ? TAG_SIZE : 0);
	key->able = l->able;
	if (l->dsa && port) {
		key->form |= port->dsa << HOP_DSA_SHIFT;
		key->least = l->least;
	}
	if (l->meta) {
#pragma unroll
		for (i = HOP_HEADER_MAX / 2 - 1; i >= 6 + TAG_SIZE / 2; i--)
			h[i] = h[i - TAG_SIZE / 2];
		h[6] = (__be16)skb->vlan_proto;
		h[7] = bpf_htons((__u16)skb->vlan_tci);
	}
#pragma unroll
	for (i = L3_ETHERNET / 2; i < HOP_HEADER_MAX / 2; i++)
		if (2 * i >= key->len)
			h[i] = zero;
	/* The length differs from packet to packet: it is 4 bytes before the end. */
	if (l->in & IN_PPPOE)
#pragma unroll
		for (i = 8; i < HOP_HEADER_MAX / 2; i++)
			if (2 * i + 4 == key->len)
				h[i] = zero;
	return 1;
}

/*
 * Notes the hop of a PPPoE session of the port of this slot: the session's number is 6 bytes before
 * the end of the header.
 */
always_inline void session_learn(__u32 slot, const struct hop_key *key)
{
	const __u8 *to = key->header;
	__u64 session, *place;
	__u16 number = 0, last;
	__u32 first;
	int i;

#pragma unroll
	for (i = L3_ETHERNET + PPPOE_SIZE; i <= HOP_HEADER_MAX; i += 2)
		if (i == key->len)
			number = bpf_ntohs(*(__be16 *)(key->header + i - 6));
	if (key->form >> HOP_DSA_SHIFT == DSA_GSWIP) { /* its tag comes before the addresses */
		__builtin_memcpy(&first, to + DSA_GSWIP_OUT_SIZE, sizeof(first));
		__builtin_memcpy(&last, to + DSA_GSWIP_OUT_SIZE + sizeof(first), sizeof(last));
	} else {
		__builtin_memcpy(&first, to, sizeof(first));
		__builtin_memcpy(&last, to + sizeof(first), sizeof(last));
	}
	session = session_of(number, first, last);
	place = session_place(slot, number);
	if (place && READ_ONCE(*place) != session)
		WRITE_ONCE(*place, session);
}

/* Notes the device on which the kernel sees packets of a PPPoE session. */
always_inline void session_device_learn(__u64 in, __u32 device)
{
	__u64 key = in & IN_NETWORK;
	__u32 *known;

	if (!(in & IN_PPPOE) || !device)
		return;
	known = bpf_map_lookup_elem(&session_devices, &key);
	if (!known || *known != device)
		bpf_map_update_elem(&session_devices, &key, &device, BPF_ANY);
}

/*
 * Returns true for the very packet on trial, by length and identification. GRO may have merged the
 * packet with those before it, which were numbered consecutively (inet_gro_receive). A super-packet
 * may leave in segments, the first of which has its identification.
 */
always_inline int very_packet(struct __sk_buff *skb, const struct trial *t, const struct packet *p,
			      __u16 id)
{
	__u16 after = bpf_ntohs(t->id) - bpf_ntohs(id), len = p->len;

	if (after && (!skb->gso_size || after >= skb->gso_segs))
		return 0;
	return t->len == len || (t->len < len ? skb->gso_size != 0 : p->proto == IPPROTO_TCP);
}

/*
 * Returns true if the packet that leaves may be the one on trial, by the kernel's record of the
 * device where it came in. Packets that leave in PPPoE have no such record (ppp_start_xmit clears
 * it), and those from PPPoE have the PPP device. If the record does not distinguish ports, as
 * behind a VRF or a bridge, length and identification must be those of the packet on trial.
 */
always_inline int came_in_there(struct __sk_buff *skb, const struct trial *t, int pppoe,
				const struct packet *p, __u16 id)
{
	__u32 device = skb->ingress_ifindex, number, *stack;
	const struct port *port = port_at(in_slot(t->in));

	if (!device && rehearsal)
		return 1;
	if (device) {
		if (port->ifindex == device)
			return 1;
		stack = bpf_map_lookup_elem(&stacks, &device);
		if (!stack)
			return 0;
		number = *stack & STACK_NUMBER;
		if (!(*stack & STACK_PPP && t->in & IN_PPPOE) &&
		    (!number || number != (port->stack & STACK_NUMBER)))
			return 0;
	} else if (!pppoe) {
		return 0;
	}
	return very_packet(skb, t, p, id);
}

/*
 * Returns true if IPsec decrypted the packet, which comes in a second time, at the same device,
 * like a plain one. The kernel would drop the same packet in the clear if a policy demands IPsec;
 * so it proves nothing.
 */
always_inline int was_decrypted(struct __sk_buff *skb)
{
	struct bpf_xfrm_state state;

	return ipsec && !bpf_skb_get_xfrm_state(skb, 0, &state, sizeof(state), 0);
}

/*
 * Layer 4 of an untranslated flow must have the right checksum: conntrack does not track a packet
 * with a wrong one, but the kernel forwards it, perhaps by rules for untracked packets. (A packet
 * of a translated flow leaves untranslated, and so finds no trial.) A device may have checked
 * already, and a super-packet was checked. Otherwise a program of its own computes the sum, see
 * sum.h.
 */
always_inline int checksum_known(struct __sk_buff *skb, int ipv6, const struct packet *p)
{
	if (skb->cb[2] == SUM_RIGHT) {
		skb->cb[2] = 0;
		return 1;
	}
	if (p->proto == IPPROTO_UDP && !p->l4_check && !ipv6)
		return 1;
	return skb->gso_size || bpf_csum_level(skb, BPF_CSUM_LEVEL_QUERY) >= 0;
}

/*
 * Handles a packet that is not on trial and left by this port. If it is a copy of one that was, a
 * bridge floods, or a rule duplicates packets (dup), and from then on one that left is no proof, as
 * the copy may be the first.
 */
always_inline int witness_copy(struct flow *flow, struct trial *t, const struct hop_key *key,
			       __u32 epoch)
{
	__u32 *known = bpf_map_lookup_elem(&hop_index, key);
	__u32 slot = known ? *known : HOPS_MAX, hop_slot = flow->hop,
	      proof = READ_ONCE(flow->proof);
	struct hop *hop = hop_at(hop_slot);

	if (t->once_at && t->once != slot) {
		t->once_at = 0;
		t->copied = 1;
	}
	if (!hop || proof != epoch + READ_ONCE(hop->epoch) || hop_slot == slot)
		return REASON_NOT_SEEN;
	__sync_val_compare_and_swap(&flow->proof, proof, 0);
	t->copied = 1;
	t->reason = REASON_DIFFERS;
	return REASON_DIFFERS;
}

always_inline int witness_packet(struct __sk_buff *skb, int ipv6, const struct link *l)
{
	struct frame f = {(void *)(long)skb->data, (void *)(long)skb->data_end, skb->len};
	struct packet p = {};
	struct hop_key key = {};
	struct segment segment;
	struct flow *flow, *other;
	struct trial *t, *said;
	struct hop *hop;
	struct port *port;
	__u32 ref, slot, epoch, len, out, stamp;
	int reason, changed;

	reason = ipv6 ? parse_ipv6(&f, L3_ETHERNET + l->shift, &p)
		      : parse_ipv4(&f, L3_ETHERNET + l->shift, &p);
	if (reason || !link_agrees(l, p.len))
		return REASON_NONE; /* nothing that could be on trial */
	packet_invert(&p, ipv6);
	other = flow_find(p.key, ipv6, &ref);
	if (!other)
		return REASON_NONE;
	said = trial_get(ref);
	if (!said)
		return REASON_NONE;
	ref = said->peer;
	flow = flow_of(ref, ipv6);
	t = trial_get(ref);
	if (!flow || !t || (READ_ONCE(flow->owner) & 0xff) != FLOW_LIVE)
		return REASON_NONE;
	port = port_find(skb->ifindex, &out);
	if (!hop_key_fill(&key, skb, port, l))
		return REASON_NONE;
	if (shadow)
		shadow_compare(&f, l->shift, &key, ipv6, ref, &p);

	epoch = READ_ONCE(control.epoch);
	if (READ_ONCE(t->epoch) != epoch || now() - t->when > patience) {
		if (p.proto == IPPROTO_TCP)
			window_passed(t, said, p.len); /* ingress may not have seen it */
		return witness_copy(flow, t, &key, epoch);
	}
	/*
	 * The packet on trial may have the same tuple but another ingress: rules may treat it
	 * differently.
	 */
	if (!came_in_there(skb, t, key.form & HOP_PPPOE, &p,
			   ipv6 ? 0 : ip_id(&f, L3_ETHERNET + l->shift)))
		return REASON_NOT_SEEN;
	if (was_decrypted(skb))
		reason = REASON_DECRYPTED;
	else if (later(READ_ONCE(control.quiet_until), now()))
		reason = REASON_QUIET;
	else if (trial_held(t))
		reason = REASON_HELD;
	else if (p.ttl + 1 != t->ttl)
		reason = REASON_TTL_CHANGED;
	else if (p.tos != t->tos)
		reason = REASON_TOS_CHANGED;
	else if (!port || !(port->flags & PORT_OUT))
		reason = REASON_PORT;
	else if (key.form & HOP_PPPOE && !(port->flags & PORT_PPP_OUT))
		reason = REASON_PORT;
	else if (key.form & HOP_PPPOE && !(port->flags & PORT_DIRECT))
		reason = REASON_QDISC; /* at TC, the qdisc would not find IP behind it */
	else
		reason = REASON_NONE;
	if (reason) {
		t->reason = reason;
		/*
		 * The packet may have copies, and be the only one that weir may not send: the
		 * others must not count as complete.
		 */
		if (port && !(port->flags & PORT_OUT) &&
		    (reason == REASON_PORT || port->flags & PORT_FLOODS)) {
			t->epoch = 0;
			witness_copy(flow, t, &key, epoch);
		}
		return reason;
	}
	if (!(flow->flags & (FLOW_ADDR | FLOW_PORT)) && !checksum_known(skb, ipv6, &p)) {
		sum_first(skb, ipv6, L3_ETHERNET + l->shift, p.len);
		t->reason = REASON_CHECKSUM;
		return REASON_CHECKSUM;
	}
	if (p.proto == IPPROTO_TCP && segment_read(&f, L3_ETHERNET + l->shift, ipv6, &p, &segment))
		window_sample(&segment, flow, t, other, said);
	slot = hop_learn(&key, HOP_LIVE | (port->flags & PORT_XDP_TX ? HOP_XDP : 0));
	hop = hop_at(slot);
	if (slot >= HOPS_MAX || !hop) {
		t->reason = REASON_HOPS_FULL;
		return REASON_HOPS_FULL;
	}
	if (key.form & HOP_PPPOE)
		session_learn(out, &key);
	session_device_learn(t->in, skb->ingress_ifindex);
	stamp = epoch + READ_ONCE(hop->epoch);
	if ((port->flags & PORT_FLOODS || t->copied) &&
	    !(READ_ONCE(flow->proof) == stamp && flow->hop == slot) &&
	    (t->once_at != stamp || t->once != slot)) {
		t->once = slot;
		t->once_at = stamp;
		t->epoch = 0;
		t->reason = REASON_ONCE;
		return REASON_ONCE;
	}
	len = p.len;
	if (skb->gso_size)
		len = (ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr)) + p.l4_len +
		      skb->gso_size;
	changed = t->mark != skb->mark || t->priority != skb->priority;
	t->mark = skb->mark;
	t->priority = skb->priority;
	reason = prove(flow, ipv6, t, hop, slot, epoch, len, changed);
	t->reason = reason;
	t->epoch = 0; /* used: one trial, one proof */
	return reason;
}

always_inline int witness_any(struct __sk_buff *skb)
{
	const struct link plain = {.able = ABLE_TC | ABLE_SUPER};
	struct link l = {};
	struct port *port;
	__u32 slot;

	/* On a conduit the protocol is IP, and the switch's tag is there all the same. */
	port = port_find(skb->ifindex, &slot);
	if (!skb->vlan_present && !(port && port->dsa)) {
		if (skb->protocol == bpf_htons(ETH_P_IP))
			return witness_packet(skb, 0, &plain);
		if (skb->protocol == bpf_htons(ETH_P_IPV6))
			return witness_packet(skb, 1, &plain);
	}
	if (skb_link_parse(skb, 1, &l))
		return REASON_NONE;
	return l.type == bpf_htons(ETH_P_IP) ? witness_packet(skb, 0, &l)
					     : witness_packet(skb, 1, &l);
}

SEC("tc")
int weir_witness(struct __sk_buff *skb)
{
	int reason;

	if (skb->cb[0] == OURS_0 && skb->cb[1] == OURS_1) {
		skb->cb[0] = 0;
		return TC_ACT_UNSPEC;
	}
	if (bridge_sends(skb))
		bpf_tail_call(skb, &parts, PART_BRIDGE_WITNESS);
	/*
	 * Sent by a socket of this machine. A packet that came in may have a socket too, if its
	 * sender is in another namespace behind a veth: only ip_rcv removes the socket, and a
	 * flowtable forwards before that.
	 */
	if (skb->sk && !skb->ingress_ifindex && !rehearsal)
		return TC_ACT_UNSPEC;
	reason = witness_any(skb);
	if (reason)
		count_passed(reason);
	return TC_ACT_UNSPEC;
}
