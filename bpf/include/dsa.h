/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DSA: a switch behind one Ethernet device, the conduit. Each frame on the conduit carries a tag
 * that names the port of the switch; its format is a property of the conduit, set by user space.
 * docs/reference/dsa.md lists every bit, and the kernel file it comes from.
 *
 * Takes pointers, not a struct frame, so that link.h can build on this file. Reads by 16 bits at
 * most: with slow unaligned access the verifier takes frames to start at 2 modulo 4, and a tag at
 * 12 is then not aligned for more.
 */
#pragma once

#include "kernel.h"
#include "reason.h"

/*
 * The name in /sys/class/net/CONDUIT/dsa/tagging. All other names: DSA_NONE, and the conduit is no
 * port.
 */
enum dsa_kind {
	DSA_NONE = 0,
	DSA_MTK = 1,   /* "mtk": net/dsa/tag_mtk.c */
	DSA_GSWIP = 2, /* "gswip": net/dsa/tag_gswip.c */
	DSA_QCA = 3,   /* "qca": net/dsa/tag_qca.c */
	DSA_KINDS,
};

#define DSA_PORTS 8 /* ports of a switch are numbered with three bits in every tag here */

#define DSA_MTK_SIZE 4
#define DSA_GSWIP_IN_SIZE 8
#define DSA_GSWIP_OUT_SIZE 4
#define DSA_QCA_SIZE 2

/* MediaTek: between the addresses and the EtherType. */
/* IEEE 802.3: from here on a type, not a length; no tag has such a first word */
#define DSA_ETHERTYPE_MIN 0x0600
#define DSA_MTK_PORT 0x07  /* in: number of the port */
#define DSA_MTK_PORTS 0x3f /* out: one bit for each port */
/* out: 0 no VLAN tag; 1, 2: this tag replaces a VLAN tag's 0x8100, 0x88a8 */
#define DSA_MTK_TPID_MAX 2

/* Lantiq, Intel: before the addresses. */
/* out, bytes 0 and 1: from the CPU's port, to the group of the LAN */
#define DSA_GSWIP_CPU 0x0200
/* out, byte 2: the port map counts, for the group as for the port */
#define DSA_GSWIP_MAP 0xc0
#define DSA_GSWIP_MAP_MASK 0x7e     /* out, byte 3: the port map */
#define DSA_GSWIP_GROUP_ENABLE 0x01 /* out, byte 3 */

/* Qualcomm, Atheros: between the addresses and the EtherType. */
#define DSA_QCA_VERSION_TYPE 0xc7c0 /* in: version, type of frame */
#define DSA_QCA_DATA 0x8000         /* in: version 2, an ordinary frame */
#define DSA_QCA_PORT 0x0007         /* in: number of the port */
#define DSA_QCA_FROM_CPU 0x8080     /* out: version 2, from the CPU; all but the port map */
#define DSA_QCA_PORTS 0x007f        /* out: one bit for each port */

/* A tag as found. All zero without one. */
struct dsa_tag {
	/*
	 * bytes of it: the EtherType is found that much later, at 12 + size, and IP at 14 + size
	 * without other tags
	 */
	__u32 size;
	__u32 ahead; /* bytes of it before the hardware addresses: all or none */
	__u32 port;  /* number of the switch's port: 0 to DSA_PORTS - 1 */
	/*
	 * out: bytes that a frame with this tag must have, if need be by zeros at its end; 0: as
	 * without a tag
	 */
	__u32 least;
};

/*
 * Reads the tag of a frame that came in at a conduit: REASON_NONE, or the reason why the kernel
 * handles the frame. With REASON_NONE the addresses, the tag and the EtherType behind it lie within
 * the frame. Ignores bits that the kernel ignores.
 */
always_inline int dsa_in(const void *data, const void *end, __u32 kind, struct dsa_tag *tag)
{
	__u16 word;

	tag->size = 0;
	tag->ahead = 0;
	tag->port = 0;
	tag->least = 0;
	if (kind == DSA_NONE)
		return REASON_NONE;
	if (kind == DSA_GSWIP) {
		if (data + 14 + DSA_GSWIP_IN_SIZE > end)
			return REASON_TRUNCATED;
		tag->size = DSA_GSWIP_IN_SIZE;
		tag->ahead = DSA_GSWIP_IN_SIZE;
		tag->port = *(const __u8 *)(data + 7) >> 4 & 7;
		return REASON_NONE;
	}
	if (kind == DSA_MTK) {
		if (data + 14 + DSA_MTK_SIZE > end)
			return REASON_TRUNCATED;
		word = bpf_ntohs(*(const __be16 *)(data + 12));
		/*
		 * The device strips the tag and passes the port in metadata that no program can
		 * read.
		 */
		if (word >= DSA_ETHERTYPE_MIN)
			return REASON_TAG;
		tag->size = DSA_MTK_SIZE;
		tag->port = word & DSA_MTK_PORT;
		return REASON_NONE;
	}
	if (kind == DSA_QCA) {
		if (data + 14 + DSA_QCA_SIZE > end)
			return REASON_TRUNCATED;
		word = bpf_ntohs(*(const __be16 *)(data + 12));
		/*
		 * Counters and answers to register accesses: the switch itself speaks. Other types
		 * are unknown here.
		 */
		if ((word & DSA_QCA_VERSION_TYPE) != DSA_QCA_DATA)
			return REASON_TAG;
		tag->size = DSA_QCA_SIZE;
		tag->port = word & DSA_QCA_PORT;
		return REASON_NONE;
	}
	return REASON_TAG;
}

/* The one port of a map, DSA_PORTS if it is not exactly one: the switch would copy the frame. */
always_inline __u32 dsa_only_port(__u32 map)
{
	if (!map || map & (map - 1) || map >> DSA_PORTS)
		return DSA_PORTS;
	return !!(map & 0xaa) | !!(map & 0xcc) << 1 | !!(map & 0xf0) << 2;
}

/*
 * Reads the tag that the kernel put on a frame that leaves by a conduit: REASON_NONE if every byte
 * of the tag is as the tagger writes it for one port, so that other packets of the flow may have
 * the same bytes. If mtk's tag replaces a VLAN tag's type, its last two bytes are that tag's TCI:
 * part of the hop's header like those of any VLAN tag.
 */
always_inline int dsa_out(const void *data, const void *end, __u32 kind, struct dsa_tag *tag)
{
	const __be16 *word;
	__u32 map = 0;

	tag->size = 0;
	tag->ahead = 0;
	tag->port = 0;
	tag->least = 0;
	if (kind == DSA_NONE)
		return REASON_NONE;
	if (kind == DSA_GSWIP) {
		const __u8 *octet = data;

		if (data + 14 + DSA_GSWIP_OUT_SIZE > end)
			return REASON_TRUNCATED;
		word = data;
		if (word[0] != bpf_htons(DSA_GSWIP_CPU) || octet[2] != DSA_GSWIP_MAP ||
		    (octet[3] & ~DSA_GSWIP_MAP_MASK) != DSA_GSWIP_GROUP_ENABLE)
			return REASON_TAG;
		tag->size = DSA_GSWIP_OUT_SIZE;
		tag->ahead = DSA_GSWIP_OUT_SIZE;
		map = (octet[3] & DSA_GSWIP_MAP_MASK) >> 1;
	} else if (kind == DSA_MTK) {
		if (data + 14 + DSA_MTK_SIZE > end)
			return REASON_TRUNCATED;
		word = data + 12;
		map = bpf_ntohs(word[0]) & 0xff;
		if (bpf_ntohs(word[0]) >> 8 > DSA_MTK_TPID_MAX || map & ~DSA_MTK_PORTS)
			return REASON_TAG;
		tag->size = DSA_MTK_SIZE;
		/*
		 * Before inserting the tag, kernels pad to 64 bytes (OpenWrt's), or not at all:
		 * then the switch spoils the rest.
		 */
		tag->least = ETH_ZLEN + DSA_MTK_SIZE;
		if (bpf_ntohs(word[0]) >> 8 == 0) {
			if (word[1])
				return REASON_TAG;
			tag->least += DSA_MTK_SIZE;
		}
	} else if (kind == DSA_QCA) {
		if (data + 14 + DSA_QCA_SIZE > end)
			return REASON_TRUNCATED;
		word = data + 12;
		map = bpf_ntohs(word[0]) & DSA_QCA_PORTS;
		if ((bpf_ntohs(word[0]) & ~DSA_QCA_PORTS) != DSA_QCA_FROM_CPU)
			return REASON_TAG;
		tag->size = DSA_QCA_SIZE;
	} else {
		return REASON_TAG;
	}
	tag->port = dsa_only_port(map);
	return tag->port < DSA_PORTS ? REASON_NONE : REASON_TAG;
}
