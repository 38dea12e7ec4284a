// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs of the benchmark, never of the daemon: traffic, sinks, and packet paths to compare with
 * weir's. One object is loaded for each namespace and kind of traffic. Variable parts are set
 * before the load, so that the verifier folds them into the code, as in a hand-written static
 * program.
 */
#include "include/csum.h"
#include "include/flow.h"

#define TEMPLATE_MAX 80
#define LENGTHS 4 /* a power of two; three are used */
#define SAMPLES 64

/* bytes of the template that are written into each frame: all headers */
const volatile __u32 header;
const volatile __u32 ipv6; /* */
/* offset of the port that differs from flow to flow */
const volatile __u32 port_at;
/* offset of the low half of the address that does */
const volatile __u32 host_at;
/* offset of the checksum of layer 4 */
const volatile __u32 check_at;
/* number of flows; 0: the template is sent as it is */
const volatile __u32 flows;
/* Flows differ in this many bits of the port, then in the low half of the address. */
const volatile __u32 port_bits;
/* frames of one flow in a row, 1 at least */
const volatile __u32 burst;
/* generate_mix: frames in turn, in the order of `mix` */
const volatile __u32 lengths[LENGTHS];
/* generator: index of the device it sends by */
const volatile __u32 out;
/* Compared paths: Ethernet header of outgoing frames */
const volatile __u8 exit_header[16] __attribute__((aligned(8)));
const volatile __be32 snat;      /* new source address */
const volatile __u32 snat_delta; /* checksum difference it makes */
/* index of the device that they send by */
const volatile __u32 exit_link;
/* ceiling: iterations of an idle loop, to model a slower router */
const volatile __u32 spin;
/* sink_marked: offset of the byte that distinguishes two kinds of packets */
const volatile __u32 mark_at;

/* As csum_update, of a difference that is not folded yet. */
always_inline __u16 csum_change(__u16 check, __u32 delta)
{
	return ~csum_fold((__u16)~check + delta);
}

/* Templates, one for each length. */
__u8 template[LENGTHS][TEMPLATE_MAX] __attribute__((aligned(64)));

/* IMIX: seven short frames, four of middle length and a long one. */
const __u8 mix[12] = {0, 1, 0, 0, 1, 0, 2, 0, 1, 0, 1, 0};

/* Written by one CPU: the loop runs on one. */
struct state {
	__u32 next;   /* flow of the next frame */
	__u32 sent;   /* frames of it so far, in a row */
	__u32 mixed;  /* place in `mix` of the next frame */
	__u32 target; /* slot in `targets` that `rotate` goes on to */
	__u64 sunk;   /* packets that reached a sink */
	__u32 wanted; /* samples still to be taken */
	__u32 taken;
	__u64 start; /* where frames began at the first run of this round, and begin now */
	__u64 now;
} state __attribute__((aligned(64)));

struct sample {
	__u32 len;               /* of the frame */
	__u8 head[TEMPLATE_MAX]; /* its first bytes: see sample_len */
	/* Tag that the kernel stripped from the frame and keeps in metadata; 0: none */
	__be16 vlan_proto;
	__u16 vlan_tci;
} samples[SAMPLES];

/* Packets that reached `sink_marked`, by the lowest bit of the byte at `mark_at`. */
struct marked {
	__u64 packets[2];
	__u64 last[2]; /* CLOCK_MONOTONIC, ns */
} marked __attribute__((aligned(64)));

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 8);
	__type(key, __u32);
	__type(value, __u32);
} targets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 32);
	__type(key, __u32);
	__type(value, __u32);
} targets_tc SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} transmit SEC(".maps");

struct nat_entry {
	__be32 saddr;
	__be16 sport;
	__u16 addr_delta;
	__u16 port_delta;
	__u16 reserved[3];
	__u64 packets;
	__u64 octets;
	__u64 last; /* ns */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1 << 18);
	__type(key, struct flow_key4);
	__type(value, struct nat_entry);
} nat_entries SEC(".maps");

/* --- traffic ------------------------------------------------------------ */

/*
 * Writes every header of the next flow's frame. All of it: a frame is used again in its last state,
 * and a field that is only lowered (TTL) would reach 0.
 */
always_inline int frame_write(void *data, void *end, __u32 which)
{
	__u32 len = header, flow = state.next, nth, port, host, i;
	__u8 *from = template[which];
	__u16 *check;

	if (len > TEMPLATE_MAX || data + len > end)
		return 0;
#pragma unroll
	for (i = 0; i < TEMPLATE_MAX / 8; i++)
		if (i * 8 + 8 <= len)
			((__u64 *)data)[i] = ((__u64 *)from)[i];
	if (len & 4)
		*(__u32 *)(data + (len & ~7)) = *(__u32 *)(from + (len & 0x78));
	if (len & 2)
		*(__u16 *)(data + (len & ~3)) = *(__u16 *)(from + (len & 0x7c));
	if (!flows)
		return 1;

	if (burst > 1 && ++state.sent < burst)
		goto same;
	if (burst > 1)
		state.sent = 0;
	state.next = flow + 1 < flows ? flow + 1 : 0;
same:
	nth = flow & ((1 << (port_bits & 15)) - 1);
	port = bpf_htons(nth);
	host = bpf_htons(flow >> (port_bits & 15));
	*(__be16 *)(data + port_at) = bpf_htons(bpf_ntohs(*(__be16 *)(data + port_at)) + nth);
	if (flows > 1 << (port_bits & 15)) {
		*(__be16 *)(data + host_at) = bpf_htons(bpf_ntohs(*(__be16 *)(data + host_at)) +
							(flow >> (port_bits & 15)));
		if (!ipv6)
			*(__u16 *)(data + 24) = csum_change(*(__u16 *)(data + 24), host);
	}
	check = data + check_at;
	*check = csum_change(*check, port + host);
	if (!*check)
		*check = 0xffff;
	return 1;
}

/* Traffic, run with BPF_F_TEST_XDP_LIVE_FRAMES: about 4 million frames per second and core. */
SEC("xdp.frags")
int generate(struct xdp_md *ctx)
{
	if (!frame_write((void *)(long)ctx->data, (void *)(long)ctx->data_end, 0))
		return XDP_ABORTED;
	return bpf_redirect(out, 0);
}

/* Generates frames of several lengths. */
SEC("xdp.frags")
int generate_mix(struct xdp_md *ctx)
{
	__u32 at = state.mixed < sizeof(mix) ? state.mixed : 0;
	__u32 which = mix[at] & (LENGTHS - 1);

	state.mixed = at + 1 < sizeof(mix) ? at + 1 : 0;
	/* The kernel has given the frame back its whole length, the last one. */
	if (bpf_xdp_adjust_tail(ctx, (int)(lengths[which] - lengths[2])))
		return XDP_ABORTED;
	if (!frame_write((void *)(long)ctx->data, (void *)(long)ctx->data_end, which))
		return XDP_ABORTED;
	return bpf_redirect(out, 0);
}

/*
 * Writes the frame of another flow at each run, then calls a program: so BPF_PROG_TEST_RUN, which
 * knows only one frame and does not restore it, can time a program that rewrites its frame.
 */
SEC("xdp.frags")
int rotate(struct xdp_md *ctx)
{
	/*
	 * A program that adds a longer header moves the beginning, each time further. The value
	 * goes through memory, as the verifier distinguishes pointers.
	 */
	state.now = ctx->data;
	if (!state.start)
		state.start = state.now;
	if (state.start != state.now && bpf_xdp_adjust_head(ctx, (int)(state.start - state.now)))
		return XDP_ABORTED;
	if (frame_write((void *)(long)ctx->data, (void *)(long)ctx->data_end, 0))
		bpf_tail_call(ctx, &targets, state.target);
	return XDP_ABORTED;
}

SEC("tc")
int rotate_tc(struct __sk_buff *skb)
{
	skb->cb[0] = 0; /* weir's mark on sent packets */
	if (frame_write((void *)(long)skb->data, (void *)(long)skb->data_end, 0))
		bpf_tail_call(skb, &targets_tc, state.target);
	return TC_ACT_SHOT;
}

/* --- sinks ------------------------------------------------------------ */

/* Counts a packet; returns the slot for its bytes if they are kept. */
always_inline struct sample *sink(__u32 len)
{
	__u32 at = state.taken;

	state.sunk++;
	if (likely(!state.wanted) || at >= SAMPLES)
		return NULL;
	state.wanted--;
	state.taken = at + 1;
	samples[at].len = len;
	samples[at].vlan_proto = 0;
	return &samples[at];
}

/*
 * The helpers need a length whose bounds the verifier can see. The shortest frames sent here are 60
 * and 62 bytes long.
 */
always_inline __u32 sample_len(__u32 len)
{
	return len < 62 ? 60 : len < TEMPLATE_MAX ? 62 : TEMPLATE_MAX;
}

SEC("xdp.frags")
int sink_xdp(struct xdp_md *ctx)
{
	__u32 len = ctx->data_end - ctx->data;
	struct sample *s = sink(len);

	if (s)
		bpf_xdp_load_bytes(ctx, 0, s->head, sample_len(len));
	return XDP_DROP;
}

SEC("tc")
int sink_tc(struct __sk_buff *skb)
{
	struct sample *s = sink(skb->len);

	if (!s)
		return TC_ACT_SHOT;
	s->vlan_proto = skb->vlan_present ? skb->vlan_proto : 0;
	s->vlan_tci = skb->vlan_tci;
	bpf_skb_load_bytes(skb, 0, s->head, sample_len(skb->len));
	return TC_ACT_SHOT;
}

/*
 * Counts two kinds of packets, and records the time of the last of each. Several processors may
 * process packets.
 */
SEC("xdp.frags")
int sink_marked(struct xdp_md *ctx)
{
	__u8 octet = 0;

	bpf_xdp_load_bytes(ctx, mark_at, &octet, 1);
	__sync_fetch_and_add(&marked.packets[octet & 1], 1);
	marked.last[octet & 1] = bpf_ktime_get_ns();
	return XDP_DROP;
}

/* At TC egress: counts packets that leave as an skb, so not through XDP. */
SEC("tc")
int count_tc(struct __sk_buff *skb)
{
	state.sunk++;
	return TC_ACT_UNSPEC;
}

/* At TC, either way: no work. Measures the kernel's cost to enter any program there. */
SEC("tc")
int pass_tc(struct __sk_buff *skb)
{
	return TC_ACT_UNSPEC;
}

/*
 * --- packet paths to compare with
 * ---------------------------------------------------------------------------------
 */

/* The floor of BPF_PROG_TEST_RUN. */
SEC("xdp.frags")
int bare(struct xdp_md *ctx)
{
	return XDP_DROP;
}

SEC("tc")
int bare_tc(struct __sk_buff *skb)
{
	return TC_ACT_SHOT;
}

always_inline void exit_write(void *data)
{
	*(__u64 *)data = *(const volatile __u64 *)exit_header;
	*(__u32 *)(data + 8) = *(const volatile __u32 *)(exit_header + 8);
}

/*
 * A rewrite that is right for exactly the bench's traffic, without any checks: a lower bound for
 * every router.
 */
always_inline int static_write(void *data, void *end)
{
	if (ipv6) {
		struct ipv6hdr *ip = data + ETH_HLEN;

		if ((void *)(ip + 1) > end)
			return 0;
		ip->hop_limit--;
	} else {
		struct iphdr *ip = data + ETH_HLEN;
		struct udphdr *udp = (void *)(ip + 1);

		if ((void *)(udp + 1) > end)
			return 0;
		ip->check = csum_change(ip->check, snat_delta + bpf_htons(0xfeff));
		ip->ttl--;
		ip->saddr = snat;
		udp->check = csum_change(udp->check, snat_delta);
	}
	exit_write(data);
	return 1;
}

SEC("xdp.frags")
int ceiling(struct xdp_md *ctx)
{
	__u32 turn;

#pragma nounroll
	for (turn = 0; turn < spin; turn++)
		barrier();
	if (!static_write((void *)(long)ctx->data, (void *)(long)ctx->data_end))
		return XDP_PASS;
	return bpf_redirect_map(&transmit, 0, 0);
}

SEC("tc")
int ceiling_tc(struct __sk_buff *skb)
{
	if (!static_write((void *)(long)skb->data, (void *)(long)skb->data_end))
		return TC_ACT_UNSPEC;
	return bpf_redirect(exit_link, 0);
}

/*
 * A common design in the field: a hash map by 5-tuple, its entry counting and dated; no proof, no
 * limits.
 */
SEC("xdp.frags")
int hash_nat(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct iphdr *ip = data + ETH_HLEN;
	struct udphdr *udp = (void *)(ip + 1);
	struct flow_key4 key = {};
	struct nat_entry *entry;
	__u16 check;

	if ((void *)(udp + 1) > end || ((struct ethhdr *)data)->h_proto != bpf_htons(ETH_P_IP))
		return XDP_PASS;
	if (ip->version != 4 || ip->ihl != 5 || ip->frag_off & bpf_htons(0x3fff) || ip->ttl <= 1 ||
	    ip->protocol != IPPROTO_UDP)
		return XDP_PASS;
	key.saddr = ip->saddr;
	key.daddr = ip->daddr;
	key.sport = udp->source;
	key.dport = udp->dest;
	key.proto = ip->protocol;
	entry = bpf_map_lookup_elem(&nat_entries, &key);
	if (!entry)
		return XDP_PASS;
	ip->check = csum_change(ip->check, entry->addr_delta + bpf_htons(0xfeff));
	ip->ttl--;
	ip->saddr = entry->saddr;
	udp->source = entry->sport;
	check = csum_change(udp->check, (__u32)entry->addr_delta + entry->port_delta);
	udp->check = check ? check : 0xffff;
	exit_write(data);
	__sync_fetch_and_add(&entry->packets, 1);
	__sync_fetch_and_add(&entry->octets, bpf_ntohs(ip->tot_len));
	entry->last = bpf_ktime_get_coarse_ns();
	return bpf_redirect_map(&transmit, 0, 0);
}

/*
 * The work of xdp-forward (xdp-tools) and the kernel's sample xdp_fwd: the routing table answers,
 * without translation or firewall. IPv4.
 */
SEC("xdp.frags")
int fib(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct iphdr *ip = data + ETH_HLEN;
	struct bpf_fib_lookup ask = {};

	if ((void *)(ip + 1) > end || eth->h_proto != bpf_htons(ETH_P_IP) || ip->ttl <= 1)
		return XDP_PASS;
	ask.family = 2; /* AF_INET */
	ask.tos = ip->tos;
	ask.l4_protocol = ip->protocol;
	ask.tot_len = bpf_ntohs(ip->tot_len);
	ask.ipv4_src = ip->saddr;
	ask.ipv4_dst = ip->daddr;
	ask.ifindex = ctx->ingress_ifindex;
	if (bpf_fib_lookup(ctx, &ask, sizeof(ask), 0) != BPF_FIB_LKUP_RET_SUCCESS ||
	    ask.ifindex != exit_link)
		return XDP_PASS;
	ip->check = csum_change(ip->check, bpf_htons(0xfeff));
	ip->ttl--;
	__builtin_memcpy(eth->h_dest, ask.dmac, ETH_ALEN);
	__builtin_memcpy(eth->h_source, ask.smac, ETH_ALEN);
	return bpf_redirect_map(&transmit, 0, 0);
}

char _license[] SEC("license") = "GPL";
