/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Common part of both hooks at ingress: parse, find, compare with the proof. xdp.h and tc.h contain
 * the parts that differ between a frame and an skb (how bytes are changed and sent).
 */
#pragma once

#include "drop.h"
#include "table.h"
#include "timing.h"
#include "window.h"

/* A decision to forward: everything read from the record before the packet is touched. */
struct verdict {
	struct flow *flow;
	struct hop *hop;
	const void *nat; /* struct flow_nat4 or flow_nat6 */
	__u64 in;        /* as flow.in */
	__u32 ref;
	__u32 hop_slot;
	__u32 l3_delta; /* as in struct flow_delta */
	__u32 l4_delta;
	__u8 flags;
};

/* Result of forwarding, for capture.h. */
struct sent {
	__u32 ref;
	const struct hop *hop;
};

always_inline const struct flow_delta *flow_delta(const struct flow *flow, int ipv6)
{
	return ipv6 ? &((const struct flow6 *)flow)->delta : &((const struct flow4 *)flow)->delta;
}

/*
 * The packet's flow is known but may not be forwarded now: puts the packet on trial, for the
 * witness to compare.
 */
always_inline void trial_open(const struct frame *f, __u32 l3_at, int ipv6, __u32 ref,
			      const struct packet *p, __u64 in, __u32 epoch, __u32 reason)
{
	struct trial *t = trial_get(ref), *said;

	if (!t)
		return;
	t->epoch = 0; /* not complete */
	barrier();
	t->when = now();
	t->in = in;
	t->len = p->len;
	t->ttl = p->ttl;
	t->tos = p->tos;
	t->label = p->label;
	t->id = ipv6 ? 0 : ip_id(f, l3_at);
	t->reason = reason;
	barrier();
	WRITE_ONCE(t->epoch, epoch);
	if (p->proto == IPPROTO_TCP) {
		said = trial_get(t->peer);
		window_passed(t, said, p->len);
		window_heard(t, said);
	}
}

/*
 * Handles a FIN, RST or SYN: conntrack decides its meaning. Until user space has received the
 * event, nothing is proven.
 */
always_inline void flow_hold(struct flow *f, struct trial *t)
{
	/*
	 * In this order: a witness that misses the hold before it proves finds it afterwards (prove
	 * in witness.h).
	 */
	t->hold = now() + hold;
	WRITE_ONCE(t->held, 1);
	__sync_lock_test_and_set(&f->proof, 0);
}

always_inline void flow_disturb(struct flow *f, __u32 ref)
{
	struct trial *t = trial_get(ref);
	struct flow *other;
	__u32 peer;

	if (!t)
		return;
	peer = t->peer;
	flow_hold(f, t);
	other = flow_get(peer);
	t = trial_get(peer);
	if (other && t)
		flow_hold(other, t);
}

/*
 * Returns true if a packet may be one of the flow, by its origin: a proven flow has one origin. For
 * a packet from elsewhere, conntrack decides and reports; until then the packet ends nothing.
 */
always_inline int flow_may_come(const struct flow *flow, __u64 in)
{
	__u32 slot = flow->hop;

	return flow->in == in || slot >= HOPS_MAX ||
	       READ_ONCE(flow->proof) != READ_ONCE(control.epoch) + READ_ONCE(hop_of(slot)->epoch);
}

/*
 * A packet came in at another member of a bridge than before: the station has moved, and packets to
 * it must go there as well. The bridge reports the move, too, unless its message was lost.
 */
always_inline void flow_moved(__u32 ref)
{
	struct trial *t = trial_get(ref);
	struct flow *other;
	__u32 peer;

	if (!t)
		return;
	peer = t->peer;
	other = flow_get(peer);
	t = trial_get(peer);
	if (!other || !t)
		return;
	t->epoch = 0;
	t->once_at = 0;
	__sync_lock_test_and_set(&other->proof, 0);
}

/*
 * Orders the reads below behind the reads above. A fetching atomic is the only full barrier in BPF
 * from 5.15 on; adding nothing to a word of the line that is about to be counted on costs little.
 * On x86 loads stay in order, and no barrier is needed.
 */
always_inline void fence_full(__u32 *word)
{
	__u32 unchanged = __sync_fetch_and_add(word, 0);

	asm volatile("" : : "r"(unchanged));
}

/*
 * Notes if a PPPoE frame comes from the other end of its session; `slot`: of the port where the
 * frame came in.
 */
always_inline void session_check(const struct frame *f, __u32 slot, struct link *l)
{
	void *from = pinned(f->data + l->ahead + ETH_ALEN);
	__u64 stranger = 0, *known;

	if (l->in & IN_PPPOE) {
		known = session_place(slot, l->in);
		stranger = from + ETH_ALEN > f->end || !known ||
			   READ_ONCE(*known) !=
				   session_of(l->in, *(__u32 *)from, *(__u16 *)(from + 4));
	}
	l->stranger = (stranger + nothing(f->len)) & 1;
}

/* Returns true if the frame is addressed to this port, or to a VLAN device on it. */
always_inline int port_owns(const struct port *port, const struct frame *f, const struct link *l)
{
	void *to = __builtin_constant_p(l->ahead) ? f->data + l->ahead : pinned(f->data + l->ahead);
	__u16 high, vlan;
	__u32 low;
	int i;

	if (!__builtin_constant_p(l->ahead) && to + ETH_ALEN > f->end)
		return 0; /* for the verifier */
	high = *(__u16 *)to;
	low = *(__u32 *)(to + 2);

	if (likely(high == *(__u16 *)port->mac[0].mac && low == *(__u32 *)(port->mac[0].mac + 2)))
		return 1;
	if (likely(port->macs < 2 || !l->tags))
		return 0;
	vlan = (l->in >> (l->dsa ? IN_INNER : IN_OUTER)) & 0xfff;
#pragma unroll
	for (i = 1; i < PORT_MACS; i++)
		if (i < port->macs && vlan == port->mac[i].vlan &&
		    high == *(__u16 *)port->mac[i].mac && low == *(__u32 *)(port->mac[i].mac + 2))
			return 1;
	return 0;
}

/*
 * Returns true if a bridge drops a frame for a source that is no station's address (br_handle_frame
 * in net/bridge/br_input.c). Without a bridge the kernel ignores the source.
 */
always_inline int source_refused(const struct port *port, const struct frame *f,
				 const struct link *l)
{
	void *from;

	if (!(port->flags & PORT_FLOODS))
		return 0;
	from = __builtin_constant_p(l->ahead) ? f->data + l->ahead + ETH_ALEN
					      : pinned(f->data + l->ahead + ETH_ALEN);
	if (!__builtin_constant_p(l->ahead) && from + ETH_ALEN > f->end)
		return 1; /* for the verifier */
	return *(__u8 *)from & 1 || !(*(__u16 *)from | *(__u32 *)(from + 2));
}

/*
 * A packet's TOS is not its record's. If only the record's mark makes the difference (FLOW_TIMED),
 * this compares the rest, and times a packet that agrees, unless XDP passes it up: TC will see it.
 */
always_inline int unlike_tos(const struct frame *f, const struct link *l, const struct packet *p,
			     struct flow *flow, const struct hop *hop, __u32 ref, int ipv6, int xdp)
{
	if ((READ_ONCE(flow->tos) ^ p->tos) & 0xfc)
		return REASON_TOS;
	if (ipv6 && ((struct flow6 *)flow)->label != p->label)
		return REASON_LABEL;
	if (p->ttl < flow->ttl_lo || p->ttl > flow->ttl_hi)
		return REASON_TTL_NEW;
	if (!xdp || (hop->flags & HOP_XDP && p->len <= flow->len))
		timer_packet(f, L3_ETHERNET + l->shift, p, ref, ipv6);
	return REASON_NONE;
}

/*
 * Returns true if a packet that got as far as its flow's proof is a FIN or RST that apparently
 * neither end can have sent: all others went to the kernel before that. Checks the packet, not a
 * mark, because the verifier would follow both values of a mark through the rest of the program.
 */
always_inline int doubtful(const struct packet *p)
{
	return p->proto == IPPROTO_TCP && p->tcp_flags & (TCP_FIN | TCP_RST);
}

/*
 * Returns the reason why a packet is not forwarded by its flow's proof. A doubtful packet is
 * dropped: conntrack does not check windows, as requested, and would believe it.
 */
always_inline int refused(const struct packet *p, int reason)
{
	return doubtful(p) ? because(REASON_WINDOW) : because(reason);
}

/*
 * Decides whether a packet may be forwarded: REASON_NONE and the verdict, or the reason. `xdp`:
 * frames only, no qdisc. A doubtful packet is judged like others, but never proves its flow.
 */
always_inline int decide(const struct frame *f, __u32 ifindex, int ipv6, int xdp,
			 const struct link *l, struct packet *p, struct verdict *v)
{
	__u32 slot, epoch, hop_slot, proof;
	struct port *port;
	struct flow *flow;
	struct hop *hop;
	int reason;
	__u64 in, hash;

	if (unlikely(!READ_ONCE(control.armed)))
		return because(REASON_SILENT);
	if (unlikely(later(now(), READ_ONCE(control.deadline)))) {
		/* For good, until a daemon arms again: the comparison wraps after 2^31 jiffies. */
		WRITE_ONCE(control.armed, 0);
		return because(REASON_SILENT);
	}
	slot = ifindex & ports_mask;
	port = pinned(&ports[slot]);
	in = pinned(l->in | (__u64)slot << IN_SLOT);
	if (port->ifindex != ifindex || !(port->flags & PORT_ON))
		return because(REASON_PORT);
	if (l->in & IN_PPPOE && !(port->flags & PORT_PPP_IN))
		return because(REASON_PORT);
	if (unlikely(port->dsa && !l->dsa))
		/* A type in the position of the tag: the device stripped the tag. */
		return because(REASON_TAG);
	if (!port_owns(port, f, l) || unlikely(source_refused(port, f, l)))
		return because(REASON_NOT_OURS);

	reason = ipv6 ? parse_ipv6(f, L3_ETHERNET + l->shift, p)
		      : parse_ipv4(f, L3_ETHERNET + l->shift, p);
	if (reason) {
		if (unlikely(READ_ONCE(control.drops) & DROP_BY_LIST) &&
		    drop_listed(f, L3_ETHERNET + l->shift, reason, port, in_slot(in), ipv6, xdp))
			return REASON_DROPPED;
		return reason;
	}
	if (!link_agrees(l, p->len))
		return because(REASON_HEADER);
	hash = hash_key(p->key, ipv6);
	flow = flow_find_hashed(hash, p->key, ipv6, &v->ref);
	if (!flow) {
		if (READ_ONCE(control.drops) && drop_check(f, L3_ETHERNET + l->shift, p, hash, in,
							   port, in_slot(in), ipv6, xdp))
			return REASON_DROPPED;
		return because(REASON_UNKNOWN);
	}
	if (p->proto == IPPROTO_TCP &&
	    (p->tcp_flags & (TCP_FIN | TCP_SYN | TCP_RST | TCP_ACK)) != TCP_ACK) {
		if (!(p->tcp_flags & (TCP_FIN | TCP_SYN | TCP_RST)))
			return because(REASON_TCP_FLAGS);
		if (shadow || !window_forged(f, L3_ETHERNET + l->shift, ipv6, p, flow, v->ref)) {
			if (!l->stranger && flow_may_come(flow, in))
				flow_disturb(flow, v->ref);
			return because(REASON_TCP_FLAGS);
		}
	}
	if (p->ttl <= 1)
		return refused(p, REASON_TTL);

	epoch = READ_ONCE(control.epoch);
	v->in = in;
	flow = pinned(flow);
	proof = READ_ONCE(flow->proof);
	if (weak_order)
		fence_full(&flow->owner);
	hop_slot = flow->hop;
	if (hop_slot >= HOPS_MAX)
		return refused(p, REASON_HOP);
	hop = hop_of(hop_slot);

	if (unlikely(proof != epoch + READ_ONCE(hop->epoch)))
		reason = because(REASON_UNPROVEN);
	else if (unlikely(flow->in != in))
		reason = because(REASON_MOVED);
	else if (unlikely(l->stranger))
		reason = because(REASON_SESSION);
	else if (unlikely(flow->tos != (p->tos & 0xfc)))
		reason = REASON_TOS;
	else if (ipv6 && unlikely(((struct flow6 *)flow)->label != p->label))
		reason = because(REASON_LABEL);
	else if (unlikely(p->ttl < flow->ttl_lo || p->ttl > flow->ttl_hi))
		reason = because(REASON_TTL_NEW);
	else
		reason = REASON_NONE;
	if (unlikely(reason == REASON_TOS))
		reason = unlike_tos(f, l, p, flow, hop, v->ref, ipv6, xdp);
	if (unlikely(reason)) {
		if (doubtful(p))
			return because(REASON_WINDOW);
		/* XDP may not see a tag that the device stripped: TC, which does, comes next. */
		if (!xdp && reason == REASON_MOVED && port->flags & PORT_FLOODS &&
		    (flow->in ^ in) & IN_NETWORK)
			flow_moved(v->ref);
		trial_open(f, L3_ETHERNET + l->shift, ipv6, v->ref, p, in, epoch, reason);
		return reason;
	}
	if (xdp && !(hop->flags & HOP_XDP))
		return because(REASON_HOOK);

	v->flow = flow;
	v->hop = hop;
	v->hop_slot = hop_slot;
	v->nat = ipv6 ? (void *)&((struct flow6 *)flow)->nat : (void *)&((struct flow4 *)flow)->nat;
	v->l3_delta = flow_delta(flow, ipv6)->l3;
	v->l4_delta = flow_delta(flow, ipv6)->l4;
	v->flags = flow->flags;
	return REASON_NONE;
}

/*
 * The length check is separate: at TC, the length of a super-packet's segment counts. REASON_NONE
 * if it fits.
 */
always_inline int fits(const struct frame *f, __u32 l3_at, int ipv6, struct verdict *v,
		       const struct packet *p, __u32 len)
{
	if (likely(len <= READ_ONCE(v->flow->len)))
		return REASON_NONE;
	if (doubtful(p))
		return because(REASON_WINDOW);
	trial_open(f, l3_at, ipv6, v->ref, p, v->in, READ_ONCE(control.epoch), REASON_LENGTH);
	return because(REASON_LENGTH);
}

always_inline void flow_count(struct flow *flow, __u64 packets, __u32 octets)
{
	__sync_fetch_and_add(&flow->count, packets << 40 | octets);
}
