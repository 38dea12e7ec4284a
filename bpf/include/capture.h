/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Capture: copies of packets that weir forwards, as they come in and as they leave. tcpdump sees
 * none of these packets, because they bypass it. Without a capture, this costs a load of one word,
 * next to words that are read anyway.
 *
 * User space makes a ring for each capture, puts it into `captures`, fills in `capture_settings`,
 * and then sets control.capture. It hands out tokens, one for each packet, many times a second:
 * that bounds the rate, and ends a capture whose reader is gone.
 */
#pragma once

#include "table.h"

#define CAPTURE_OCTETS 2048 /* of a packet, at most */
#define CAPTURE_DIRECT 128  /* at XDP before Linux 5.18, which has no helper that copies */
#define CAPTURE_PIECE 16

/*
 * The low bits of control.capture; the others number captures, so that remains of one do not fit
 * another.
 */
enum capture_side {
	CAPTURE_IN = 1 << 0,
	CAPTURE_OUT = 1 << 1,
};

enum capture_family {
	CAPTURE_IPV4 = 1 << 0,
	CAPTURE_IPV6 = 1 << 1,
};

enum capture_hook {
	CAPTURE_XDP,
	CAPTURE_TC,
};

/* End of a flow: the bits under the masks have to agree. Of IPv4, the first word counts. */
struct capture_end {
	__be32 addr[4];
	__be32 addr_mask[4];
	__be16 port;
	__be16 port_mask;
};
_Static_assert(sizeof(struct capture_end) == 36, "capture_end");

/* Written by user space, but for the tokens, which both write. */
struct capture_settings {
	__s32 tokens;              /* packets that may be captured before user space gives more */
	__u32 octets;              /* of each packet that are kept */
	__u32 link;                /* comes in at this device, or leaves by it; 0: any */
	__be16 port;               /* on either side, translated or not */
	__be16 port_mask;          /* 0: any */
	__u8 families;             /* enum capture_family */
	__u8 proto;                /* */
	__u8 proto_mask;           /* 0: any */
	__u8 reserved;             /* */
	struct capture_end end[2]; /* in either order, translated or not */
};
_Static_assert(sizeof(struct capture_settings) == 92, "capture_settings");

/* Record for user space: `octets` bytes of the packet at most. */
struct captured {
	__u64 when;   /* nanoseconds, CLOCK_MONOTONIC */
	__u64 packet; /* a number that both sides of a packet share */
	__u32 link;   /* device it came in at, or leaves by */
	__u32 flow;   /* its reference */
	__u32 len;    /* bytes of the whole frame; of a super-packet, too */
	__be16 vlan;  /* EtherType of a VLAN tag in skb metadata; 0 without one */
	__u16 tci;    /* and its TCI */
	/* payload of each segment of a super-packet, bytes; 0 for an ordinary one */
	__u16 segment;
	__u16 segments; /* how many those are */
	__u8 side;      /* CAPTURE_IN or CAPTURE_OUT */
	__u8 hook;      /* enum capture_hook */
	__u16 reserved;
	__u8 octets[CAPTURE_OCTETS];
};
#define CAPTURED_HEAD __builtin_offsetof(struct captured, octets)
_Static_assert(CAPTURED_HEAD == 40, "captured");

/*
 * State of one processor, which has one packet in hand at a time. An incoming packet waits here
 * until the packet has been sent: a packet that goes to the kernel after all is not captured.
 */
struct capture_state {
	__u64 lost;   /* records that the ring had no room for, since the programs were loaded */
	__u64 over;   /* packets that there was no token for */
	__u64 serial; /* packets captured */
	__u32 word;   /* control.capture, when the packet in hand came in */
	__u32 in;     /* device it came in at */
	__u32 out;    /* device it left by */
	__u32 flow;   /* its reference */
	__u32 kept;   /* bytes of it in `record` */
	struct captured record;
};

struct capture_ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

/* The ring of the capture that is running, made for it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct capture_ring);
} captures SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct capture_settings);
} capture_settings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct capture_state);
} capture_states SEC(".maps");

/*
 * Always 0, and not on the stack: a value that a branch leaves there keeps the verifier from seeing
 * that the program continues as without the branch.
 */
const volatile __u32 capture_key;

/*
 * The filter has no branches: each would double the paths that the verifier has to follow from
 * there. A difference is 0 for a match, and unused criteria have masks of 0.
 */
always_inline __u32 capture_none(__u32 difference)
{
	return ((__u64)difference - 1) >> 63;
}

/* Returns the bits that differ between an end and an address and port. */
always_inline __u32 capture_differs(const struct capture_end *e, const __be32 *addr, __be16 port,
				    int ipv6)
{
	__u32 d = (addr[0] ^ e->addr[0]) & e->addr_mask[0];

	if (ipv6) {
		d |= (addr[1] ^ e->addr[1]) & e->addr_mask[1];
		d |= (addr[2] ^ e->addr[2]) & e->addr_mask[2];
		d |= (addr[3] ^ e->addr[3]) & e->addr_mask[3];
	}
	return d | (__u32)((port ^ e->port) & e->port_mask);
}

/* Returns true if a tuple has the requested ends, in either order, and the port on either side. */
always_inline __u32 capture_tuple(const struct capture_settings *c, const __be32 *saddr,
				  const __be32 *daddr, __be16 sport, __be16 dport, int ipv6)
{
	__u32 straight, reversed;

	straight = capture_differs(&c->end[0], saddr, sport, ipv6) |
		   capture_differs(&c->end[1], daddr, dport, ipv6);
	reversed = capture_differs(&c->end[1], saddr, sport, ipv6) |
		   capture_differs(&c->end[0], daddr, dport, ipv6);
	return capture_none(straight) | capture_none(reversed);
}

always_inline __u32 capture_port(const struct capture_settings *c, __be16 sport, __be16 dport)
{
	return capture_none((sport ^ c->port) & c->port_mask) |
	       capture_none((dport ^ c->port) & c->port_mask);
}

/* Returns true if packets of this flow are requested: as they come in, or as they leave. */
always_inline __u32 capture_flow4(const struct capture_settings *c, __u32 bucket, __u32 way)
{
	const struct bucket4 *b = bpf_map_lookup_elem(&flows4, &bucket);
	const struct flow_key4 *k;
	const struct flow_nat4 *n;

	if (!b)
		return 0;
	k = &b->way[way].key;
	n = &b->way[way].nat;
	return (c->families & CAPTURE_IPV4) & capture_none((c->proto ^ k->proto) & c->proto_mask) &
	       (capture_port(c, k->sport, k->dport) | capture_port(c, n->sport, n->dport)) &
	       (capture_tuple(c, &k->saddr, &k->daddr, k->sport, k->dport, 0) |
		capture_tuple(c, &n->saddr, &n->daddr, n->sport, n->dport, 0));
}

always_inline __u32 capture_flow6(const struct capture_settings *c, __u32 bucket, __u32 way)
{
	const struct bucket6 *b = bpf_map_lookup_elem(&flows6, &bucket);
	const struct flow_key6 *k;
	const struct flow_nat6 *n;

	if (!b)
		return 0;
	k = &b->way[way].key;
	n = &b->way[way].nat;
	return (c->families / CAPTURE_IPV6) & capture_none((c->proto ^ k->proto) & c->proto_mask) &
	       (capture_port(c, k->sport, k->dport) | capture_port(c, n->sport, n->dport)) &
	       (capture_tuple(c, k->saddr, k->daddr, k->sport, k->dport, 1) |
		capture_tuple(c, n->saddr, n->daddr, n->sport, n->dport, 1));
}

always_inline __u32 capture_flow(const struct capture_settings *c, __u32 ref)
{
	__u32 slot = ref & ~FLOW_REF_IPV6;

	if (ref & FLOW_REF_IPV6)
		return capture_flow6(c, slot / FLOW_WAYS, slot % FLOW_WAYS);
	return capture_flow4(c, slot / FLOW_WAYS, slot % FLOW_WAYS);
}

/* Takes a token, if any. Never far below 0, however long user space is away. */
always_inline int capture_token(struct capture_settings *c)
{
	return READ_ONCE(c->tokens) > 0 && (__s32)__sync_fetch_and_add(&c->tokens, -1) > 0;
}

/*
 * Returns the number of bytes captured of a packet, in a form from which older verifiers, too, see
 * that it is 1 to CAPTURE_OCTETS.
 */
always_inline __u32 capture_keep(const struct capture_settings *c, __u32 len)
{
	__u32 n = READ_ONCE(c->octets);

	if (n > len)
		n = len;
	return ((n - 1) & (CAPTURE_OCTETS - 1)) + 1;
}
_Static_assert((CAPTURE_OCTETS & (CAPTURE_OCTETS - 1)) == 0, "CAPTURE_OCTETS: a power of two");

/*
 * Copies the first `n` bytes of a frame, 16 to CAPTURE_DIRECT, without a helper: by pieces, the
 * last of which overlaps the one before it. So the verifier has to follow few ways.
 */
always_inline __u32 capture_direct(__u8 *to, void *data, void *end, __u32 n)
{
	void *from;
	__u32 i;

	if (n < CAPTURE_PIECE)
		return 0;
	if (n > CAPTURE_DIRECT)
		n = CAPTURE_DIRECT;
#pragma clang loop unroll(disable)
	for (i = 0; i < CAPTURE_DIRECT; i += CAPTURE_PIECE) {
		if (i + CAPTURE_PIECE > n || data + i + CAPTURE_PIECE > end)
			break;
#pragma unroll
		for (int k = 0; k < CAPTURE_PIECE; k += 2) /* frames are aligned to that */
			*(__u16 *)(to + i + k) = *(__u16 *)(data + i + k);
	}
	i = n - CAPTURE_PIECE;
	asm volatile("" : "+r"(i)); /* for older verifiers, which need the bound below */
	i &= CAPTURE_DIRECT - 1;
	from = data + i;
	if (from + CAPTURE_PIECE > end)
		return 0;
#pragma unroll
	for (int k = 0; k < CAPTURE_PIECE; k++)
		to[i + k] = *(__u8 *)(from + k);
	return n;
}

/* Copies a frame into the record in its present state. */
always_inline void capture_frame(struct xdp_md *ctx, struct capture_state *s,
				 const struct capture_settings *c)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct captured *r = &s->record;
	__u32 n;

	r->hook = CAPTURE_XDP;
	r->len = buffers ? bpf_xdp_get_buff_len(ctx) : end - data;
	r->vlan = 0;
	r->tci = 0;
	r->segment = 0;
	r->segments = 1;
	n = capture_keep(c, r->len);
	if (!buffers)
		n = capture_direct(r->octets, data, end, n);
	else if (bpf_xdp_load_bytes(ctx, 0, r->octets, n))
		n = 0;
	s->kept = n;
}

/* Captures an incoming skb. */
always_inline void capture_skb(struct __sk_buff *skb, struct capture_state *s,
			       const struct capture_settings *c)
{
	struct captured *r = &s->record;
	__u32 n;

	r->hook = CAPTURE_TC;
	r->len = skb->len;
	r->vlan = skb->vlan_present ? skb->vlan_proto : 0;
	r->tci = skb->vlan_present ? skb->vlan_tci : 0;
	r->segment = skb->gso_size;
	r->segments = skb->gso_size && skb->gso_segs ? skb->gso_segs : 1;
	n = capture_keep(c, r->len);
	if (bpf_skb_load_bytes(skb, 0, r->octets, n))
		n = 0;
	s->kept = n;
}

always_inline void capture_send(struct capture_state *s)
{
	void *ring = bpf_map_lookup_elem(&captures, (const void *)&capture_key);
	__u32 n = s->kept;

	if (n > CAPTURE_OCTETS)
		return; /* for the verifier */
	/* User space polls the ring: it need not be woken for each packet. */
	if (!ring || bpf_ringbuf_output(ring, &s->record, CAPTURED_HEAD + n, BPF_RB_NO_WAKEUP))
		s->lost++;
}

/* Looks up the maps for the calls below; 0 if one is missing, which never happens. */
always_inline int capture_open(struct capture_state **s, struct capture_settings **c)
{
	*c = bpf_map_lookup_elem(&capture_settings, (const void *)&capture_key);
	*s = bpf_map_lookup_elem(&capture_states, (const void *)&capture_key);
	return *c && *s;
}

/* Begins with a packet. Returns true if the incoming packet must be kept: never without a token. */
always_inline int capture_begin(struct capture_state *s, const struct capture_settings *c, __u32 in)
{
	__u32 word = READ_ONCE(control.capture);

	s->word = word;
	s->in = in;
	s->kept = 0;
	s->record.when = bpf_ktime_get_ns();
	return word & CAPTURE_IN && READ_ONCE(c->tokens) > 0;
}

/*
 * Notes where the packet was sent. A number that is read again from here is unknown to the
 * verifier, which otherwise follows each way of each bucket separately.
 */
always_inline void capture_note(struct capture_state *s, __u32 ref, __u32 out)
{
	WRITE_ONCE(s->flow, ref);
	WRITE_ONCE(s->out, out);
}

/*
 * The packet was sent. Submits the incoming packet if it is captured. Returns true if the outgoing
 * packet has to follow.
 */
always_inline int capture_sent(struct capture_state *s, struct capture_settings *c)
{
	__u32 word = s->word, ref = READ_ONCE(s->flow), out = READ_ONCE(s->out);
	struct captured *r = &s->record;

	/* A capture that began after the packet came in lacks the packet's incoming side. */
	if (word != READ_ONCE(control.capture))
		return 0;
	if (!((capture_none(c->link) | capture_none(c->link ^ s->in) |
	       capture_none(c->link ^ out)) &
	      capture_flow(c, ref)))
		return 0;
	if (!capture_token(c)) {
		s->over++;
		return 0;
	}
	r->packet = (__u64)bpf_get_smp_processor_id() << 48 | (s->serial++ & 0xffffffffffff);
	r->flow = ref;
	r->reserved = 0;
	if (s->kept) {
		r->link = s->in;
		r->side = CAPTURE_IN;
		capture_send(s);
	}
	if (!(word & CAPTURE_OUT))
		return 0;
	r->when = bpf_ktime_get_ns();
	r->link = out;
	r->side = CAPTURE_OUT;
	return 1;
}

/* Returns true if a capture is running: check this before each of the calls below. */
always_inline int capturing(void)
{
	return unlikely(READ_ONCE(control.capture));
}

/*
 * Calls of the hooks, at their start and end. An incoming packet is kept before parsing, because
 * every branch in between would be one more for the verifier to follow: during a capture, all
 * packets cost a little more. `out` is for redirected packets.
 */
always_inline void capture_in_xdp(struct xdp_md *ctx)
{
	struct capture_settings *c;
	struct capture_state *s;

	if (capture_open(&s, &c) && capture_begin(s, c, ctx->ingress_ifindex))
		capture_frame(ctx, s, c);
}

always_inline void capture_out_xdp(struct xdp_md *ctx, __u32 ref, __u32 out)
{
	struct capture_settings *c;
	struct capture_state *s;

	if (!capture_open(&s, &c))
		return;
	capture_note(s, ref, out);
	if (capture_sent(s, c)) {
		capture_frame(ctx, s, c);
		capture_send(s);
	}
}

always_inline void capture_in_tc(struct __sk_buff *skb)
{
	struct capture_settings *c;
	struct capture_state *s;

	if (capture_open(&s, &c) && capture_begin(s, c, skb->ifindex))
		capture_skb(skb, s, c);
}

always_inline void capture_out_tc(struct __sk_buff *skb, __u32 ref, __u32 out)
{
	struct capture_settings *c;
	struct capture_state *s;

	if (!capture_open(&s, &c))
		return;
	capture_note(s, ref, out);
	if (capture_sent(s, c)) {
		capture_skb(skb, s, c);
		capture_send(s);
	}
}
