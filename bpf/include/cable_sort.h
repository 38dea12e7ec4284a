/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Classifies frames. A frame that is cut off too early is of the best sort that is certain: each
 * header is copied, and the copy fails if the frame ends before.
 */
#pragma once

#include "cable.h"

#define CABLE_ETHERTYPE_HELLO 0x88b5 /* IEEE: local experimental */
#define CABLE_ETHERTYPE_BATMAN 0x4305
#define CABLE_ETHERTYPE_LLDP 0x88cc
#define CABLE_ETHERTYPE_PPPOE 0x8863 /* discovery */
#define CABLE_ETHERTYPE_LEAST 0x600  /* below it is a length, and LLC comes next */
#define CABLE_PROTO_OSPF 89
#define CABLE_PROTO_HIP 139
#define CABLE_PROTO_SHIM6 140

/* A MAC as a number: the first octet counts most. */
always_inline __u64 cable_mac(const __u8 *octet)
{
	return (__u64)octet[0] << 40 | (__u64)octet[1] << 32 | (__u32)octet[2] << 24 |
	       (__u32)octet[3] << 16 | octet[4] << 8 | octet[5];
}

/*
 * Copies octets `from` on, if they belong to a packet that ends at `end`; else returns not 0.
 * Octets behind the end are padding: hosts do not read them, and this function must not either.
 */
always_inline int cable_within(struct __sk_buff *skb, __u32 from, __u32 end, void *to, __u32 octets)
{
	return from + octets > end || bpf_skb_load_bytes(skb, from, to, octets);
}

/* Ports of UDP at `at`; `ipv6` has another DHCP. */
always_inline __u32 cable_udp(struct __sk_buff *skb, __u32 at, __u32 end, int ipv6)
{
	__be16 port[2];
	__u16 to;
	__u8 op;

	if (cable_within(skb, at, end, port, sizeof(port)))
		return CABLE_IP | CABLE_HIDDEN;
	to = bpf_ntohs(port[1]);
	switch (to) {
	case 67:
	case 68:
		if (ipv6)
			return CABLE_IP;
		/* The first of two fragments may end here. */
		if (cable_within(skb, at + sizeof(struct udphdr), end, &op, 1))
			return CABLE_IP | (to == 68 ? CABLE_HIDDEN : 0);
		if (to == 68 && op == 2)
			return CABLE_DHCP_SERVER;
		return to == 67 && op == 1 ? CABLE_DHCP_CLIENT : CABLE_IP;
	case 546:
		return ipv6 ? CABLE_DHCP6_SERVER : CABLE_IP;
	case 5678:
		return CABLE_MNDP;
	case 6696:
		return CABLE_BABEL;
	case 269:  /* OLSRv2 (RFC 5498) */
	case 698:  /* OLSR */
	case 520:  /* RIP */
	case 521:  /* RIPng */
	case 6240: /* BMX7 */
		return CABLE_ROUTING;
	}
	return CABLE_IP;
}

/* Returns the end of a packet with this length at `at`. GRO makes some with a length of 0. */
always_inline __u32 cable_end(struct __sk_buff *skb, __u32 at, __u32 octets)
{
	return octets ? at + octets : skb->len;
}

always_inline __u32 cable_ipv4(struct __sk_buff *skb, __u32 at)
{
	struct iphdr h;

	if (bpf_skb_load_bytes(skb, at, &h, sizeof(h)) || h.version != 4 || h.ihl < 5)
		return CABLE_IP;
	if (h.protocol == CABLE_PROTO_OSPF)
		return CABLE_ROUTING;
	/* Layer 4 begins in the first fragment only, and without that one no host has the rest. */
	if (h.protocol != IPPROTO_UDP || h.frag_off & bpf_htons(0x1fff))
		return CABLE_IP;
	return cable_udp(skb, at + h.ihl * 4, cable_end(skb, at, bpf_ntohs(h.tot_len)), 0);
}

/* Returns true for the number of an extension header that hosts follow (RFC 7045, 4). */
always_inline int cable_extends(__u8 header)
{
	switch (header) {
	case IPPROTO_HOPOPTS:
	case IPPROTO_ROUTING:
	case IPPROTO_FRAGMENT:
	case IPPROTO_AH:
	case IPPROTO_DSTOPTS:
	case IPPROTO_MH:
	case CABLE_PROTO_HIP:
	case CABLE_PROTO_SHIM6:
		return 1;
	}
	return 0;
}

always_inline __u32 cable_ipv6(struct __sk_buff *skb, __u32 at)
{
	struct ipv6hdr h;
	__u8 next, type, extension[4];
	__u32 end, i;

	if (bpf_skb_load_bytes(skb, at, &h, sizeof(h)) || h.version != 6)
		return CABLE_IP;
	at += sizeof(h);
	end = cable_end(skb, at, bpf_ntohs(h.payload_len));
	next = h.nexthdr;
#pragma clang loop unroll(disable)
	for (i = 0; i < CABLE_HEADERS && cable_extends(next); i++) {
		if (cable_within(skb, at, end, extension, sizeof(extension)))
			return CABLE_IP | CABLE_HIDDEN;
		if (next == IPPROTO_FRAGMENT) {
			/* Without the first fragment no host has the rest. */
			if (extension[2] || extension[3] & 0xf8)
				return CABLE_IP;
			at += 8;
		} else if (next == IPPROTO_AH) {
			at += (extension[1] + 2) * 4;
		} else {
			at += (extension[1] + 1) * 8;
		}
		next = extension[0];
	}
	if (cable_extends(next))
		return CABLE_IP | CABLE_HIDDEN;
	if (next == CABLE_PROTO_OSPF)
		return CABLE_ROUTING;
	if (next == IPPROTO_UDP)
		return cable_udp(skb, at, end, 1);
	/* A host beyond the link cannot send with 255 (RFC 4861, 6.1). */
	if (next != IPPROTO_ICMPV6 || h.hop_limit != 255)
		return CABLE_IP;
	if (cable_within(skb, at, end, &type, 1))
		return CABLE_IP | CABLE_HIDDEN;
	if (type == 134)
		return CABLE_ROUTER_ADVERTISEMENT;
	return type == 133 ? CABLE_ROUTER_SOLICITATION : CABLE_IP;
}

always_inline __u32 cable_pppoe(struct __sk_buff *skb, __u32 at)
{
	__u8 h[2]; /* version and type, code */

	if (bpf_skb_load_bytes(skb, at, h, sizeof(h)))
		return CABLE_OTHER;
	if (h[1] == 0x07 || h[1] == 0x65)
		return CABLE_PADO;
	return h[1] == 0x09 || h[1] == 0x19 ? CABLE_PADI : CABLE_OTHER;
}

/* A frame with a length instead of an EtherType. */
always_inline __u32 cable_llc(struct __sk_buff *skb, __u32 at, __u64 to)
{
	__u8 h[8];

	if (to == 0x01000ccccccdull) /* PVST */
		return CABLE_BPDU;
	if (to == 0x0180c2000000ull) {
		if (!bpf_skb_load_bytes(skb, at, h, 3) && h[0] == 0x42 && h[1] == 0x42 && h[2] == 3)
			return CABLE_BPDU;
		return CABLE_OTHER;
	}
	if (to == 0x01000cccccccull && !bpf_skb_load_bytes(skb, at, h, 8) && h[0] == 0xaa &&
	    h[1] == 0xaa && h[2] == 3 && !h[3] && !h[4] && h[5] == 0x0c && h[6] == 0x20 && !h[7])
		return CABLE_CDP;
	return CABLE_OTHER;
}

/*
 * The EtherType behind LLC and SNAP (RFC 1042, IEEE 802.1H), or 0. A wireless station has both
 * taken off by its access point or itself, and reads on.
 */
always_inline __u16 cable_snap(struct __sk_buff *skb, __u32 at)
{
	__u8 h[8];

	if (bpf_skb_load_bytes(skb, at, h, sizeof(h)) || h[0] != 0xaa || h[1] != 0xaa ||
	    h[2] != 3 || h[3] || h[4] || (h[5] && h[5] != 0xf8))
		return 0;
	return h[6] << 8 | h[7];
}

/*
 * Returns the sort of a frame that is not from this router itself, with CABLE_HIDDEN for hidden
 * content; `vlan`: the number in its outermost tag. Before TC ingress the kernel has stripped that
 * tag from the frame; frames of BPF_PROG_TEST_RUN still have it.
 */
always_inline __u32 cable_sort(struct __sk_buff *skb, const __be16 *ethernet, __u32 *vlan)
{
	__u16 type = bpf_ntohs(ethernet[6]), inner;
	__u64 to = cable_mac((const __u8 *)ethernet);
	__u32 at = ETH_HLEN, magic;
	__be16 tag[2];
	int i;

	*vlan = skb->vlan_present ? skb->vlan_tci & 0xfff : CABLE_NO_VLAN;
#pragma unroll
	for (i = 0; i < 2; i++) {
		if (type != ETH_P_8021Q && type != ETH_P_8021AD)
			break;
		if (bpf_skb_load_bytes(skb, at, tag, sizeof(tag)))
			return CABLE_OTHER;
		if (*vlan == CABLE_NO_VLAN)
			*vlan = bpf_ntohs(tag[0]) & 0xfff;
		type = bpf_ntohs(tag[1]);
		at += sizeof(tag);
	}
	if (type < CABLE_ETHERTYPE_LEAST) {
		inner = cable_snap(skb, at);
		if (!inner)
			return cable_llc(skb, at, to);
		type = inner;
		at += 8;
	}
	switch (type) {
	case ETH_P_IP:
		return cable_ipv4(skb, at);
	case ETH_P_IPV6:
		return cable_ipv6(skb, at);
	case ETH_P_ARP:
		return CABLE_ARP;
	case CABLE_ETHERTYPE_LLDP:
		return CABLE_LLDP;
	case CABLE_ETHERTYPE_BATMAN:
		return CABLE_BATMAN;
	case CABLE_ETHERTYPE_PPPOE:
		return cable_pppoe(skb, at);
	/* Linux strips as many as there are, with the number 0. */
	case ETH_P_8021Q:
	case ETH_P_8021AD:
		return CABLE_OTHER | CABLE_HIDDEN;
	case CABLE_ETHERTYPE_HELLO:
		if (!bpf_skb_load_bytes(skb, at, &magic, 4) && magic == bpf_htonl(0x77656972))
			return CABLE_HELLO;
	}
	return CABLE_OTHER;
}
